package conversation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/internal/terminal/block"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of the output of /show, and of the envelopes that it knows by a number.
const (
	maxNumbered   = 512
	maxShownLines = 200
	maxShownLine  = 1 << 10 // bytes
)

// numbered are the envelopes that were displayed with a number, oldest first.
type numbered struct {
	ids   []protocol.ID
	first int // the number of the first one, less 1
}

// number returns the number of an envelope, the next one if it has none.
func (n *numbered) number(id protocol.ID) int {
	if i := slices.Index(n.ids, id); i >= 0 {
		return n.first + i + 1
	}
	n.ids = append(n.ids, id)
	if len(n.ids) > maxNumbered {
		n.ids = slices.Delete(n.ids, 0, 1)
		n.first++
	}
	return n.first + len(n.ids)
}

// find returns the envelope that a person names by its number, or by its id.
func (n *numbered) find(which string) protocol.ID {
	i, err := strconv.Atoi(strings.TrimPrefix(which, "#"))
	if err == nil && i > n.first && i <= n.first+len(n.ids) {
		return n.ids[i-n.first-1]
	}
	return protocol.ID(which)
}

// refer describes referenced envelopes: the number for /show, and the id, or the
// author and the beginning of a message.
func (m *Model) refer(ids []string) []string {
	list := make([]string, len(ids))
	for i, id := range ids {
		text := termsafe.Cut(termsafe.Words(id), 40)
		if b := m.scrollback.chats[protocol.ID(id)]; b != nil {
			text = termsafe.Name(b.Chat.From) + ": " + termsafe.Cut(termsafe.Words(textutil.Shorten(b.Chat.Text, 400)), 40)
		}
		list[i] = fmt.Sprintf("#%d %s", m.numbered.number(protocol.ID(id)), text)
	}
	return list
}

// askEnvelope handles /show.
func (m *Model) askEnvelope(which string) {
	if which == "" || strings.ContainsAny(which, " \n") {
		m.printLines(ErrorBlock, "Usage: /show N or /show ID, for example /show 1 for the reference #1.")
		return
	}
	m.do(ReadEnvelope{m.numbered.find(which)})
}

// showEnvelope prints an envelope as the gateway stores it.
func (m *Model) showEnvelope(e EnvelopeRead) {
	var status *api.StatusError
	id := termsafe.Exact(textutil.Shorten(string(e.Request.ID), 200))
	switch {
	case errors.As(e.Err, &status) && status.Status == http.StatusNotFound:
		m.printLines(ErrorBlock, "No envelope "+id+", or it is not visible to you.")
		return
	case e.Err != nil:
		m.printLines(ErrorBlock, "Could not read the envelope: "+errorText(e.Err))
		return
	}
	var text bytes.Buffer
	if json.Indent(&text, e.Raw, "  ", "  ") != nil {
		m.printLines(ErrorBlock, "Could not read the envelope: the response is not JSON.")
		return
	}
	lines := strings.Split(text.String(), "\n")
	more := len(lines) - maxShownLines
	lines = lines[:min(len(lines), maxShownLines)]
	for i, l := range lines {
		body := strings.TrimLeft(l, " ")
		lines[i] = l[:len(l)-len(body)] + termsafe.Exact(textutil.Shorten(body, maxShownLine))
	}
	lines[0] = "  " + lines[0]
	if more > 0 {
		lines = append(lines, fmt.Sprintf("  … %s more", textutil.Count(more, "line")))
	}
	m.printLines(NoticeBlock, slices.Insert(lines, 0, "Envelope "+id)...)
}

// askSearch handles /search.
func (m *Model) askSearch(text string) {
	if text == "" {
		m.printLines(ErrorBlock, `Usage: /search WORDS, for example /search invoice "first draft" -old.`)
		return
	}
	m.do(Search{text})
}

// showHits prints the hits of a search, each with a number for /show.
func (m *Model) showHits(e Searched) {
	if e.Err != nil {
		m.printLines(ErrorBlock, "Search failed: "+errorText(e.Err))
		return
	}
	var lines []string
	for i := range e.Result.Hits {
		h := &e.Result.Hits[i]
		lines = append(lines, fmt.Sprintf("  #%d  %s", m.numbered.number(h.ID), block.Hit(h, m.GatewayTime().Location(), m.style)))
	}
	if len(lines) > 0 {
		m.printStyled(lines...)
	}
	note := block.SearchNote(e.Result, e.Request.Text, len(lines))
	if note == "" && e.Result.HasMore {
		note = "there are more results; add words"
	}
	if note != "" {
		m.printLines(NoticeBlock, strings.ToUpper(note[:1])+note[1:]+".")
	}
}
