package clienttest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/meup-protocol/meup/protocol"
)

// logbook is the log of the space. The program may see all of it.
type logbook struct {
	mu      sync.Mutex
	id      string
	head    protocol.Seq
	entries []protocol.Envelope
	byID    map[protocol.ID]int // index in entries
}

func newLogbook() *logbook {
	l := &logbook{}
	l.replace()
	return l
}

func (l *logbook) replace() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.id, l.head, l.entries, l.byID = uuid.NewString(), 0, nil, make(map[protocol.ID]int)
}

// state returns the id and the head of the log.
func (l *logbook) state() (id string, head protocol.Seq) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.id, l.head
}

// add appends an envelope, and sets its seq and, if it has none, its ts. Every third seq is left
// out, because gaps are normal.
func (l *logbook) add(env *protocol.Envelope) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.head++
	if l.head%3 == 0 {
		l.head++
	}
	env.Seq = l.head
	if env.TS.IsZero() {
		env.TS = time.Now()
	}
	l.byID[env.ID] = len(l.entries)
	l.entries = append(l.entries, *env)
}

// find returns the entry with an id.
func (l *logbook) find(id protocol.ID) (env protocol.Envelope, found bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i, found := l.byID[id]
	if found {
		env = l.entries[i]
	}
	return env, found
}

// after returns the entries after a position.
func (l *logbook) after(since protocol.Seq) []protocol.Envelope {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := 0
	for i < len(l.entries) && l.entries[i].Seq <= since {
		i++
	}
	return slices.Clone(l.entries[i:])
}

// history answers GET /api/spaces/lab/envelopes.
func (l *logbook) history(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	since, _ := protocol.ParseSeq(q.Get("since"))
	before, _ := protocol.ParseSeq(q.Get("before"))
	limit, _ := strconv.Atoi(q.Get("limit"))
	if limit <= 0 || limit > 1000 {
		limit = 100
	}
	list := slices.DeleteFunc(l.after(since), func(e protocol.Envelope) bool {
		return before > 0 && e.Seq >= before || !isIn(strings.Join(q["from"], ","), e.From) || !matchesKind(strings.Join(q["kinds"], ","), e.Kind)
	})
	descending := q.Get("order") == "desc"
	if descending {
		slices.Reverse(list)
	}
	more := len(list) > limit
	list = list[:min(len(list), limit)]
	id, next := l.state()
	if len(list) > 0 && (more || descending) {
		next = list[len(list)-1].Seq
	}
	if strings.HasPrefix(r.Header.Get("Accept"), "application/jsonl") {
		w.Header().Set("Content-Type", "application/jsonl")
		w.Header().Set("Meup-Log", id)
		w.Header().Set("Meup-Next", next.String())
		w.Header().Set("Meup-Has-More", strconv.FormatBool(more))
		for i := range list {
			_, _ = w.Write(append(encode(&list[i]), '\n'))
		}
		return
	}
	envelopes := []json.RawMessage{}
	for i := range list {
		envelopes = append(envelopes, encode(&list[i]))
	}
	writeJSON(w, http.StatusOK, map[string]any{"log": id, "envelopes": envelopes, "next": next, "has_more": more})
}

func encode(env *protocol.Envelope) []byte {
	return protocol.AppendEnvelope(nil, protocol.DialectMEUP01, env)
}

func isIn(list string, from protocol.ParticipantID) bool {
	return list == "" || slices.Contains(strings.Split(list, ","), string(from))
}

func matchesKind(list string, kind protocol.Kind) bool {
	return list == "" || slices.ContainsFunc(strings.Split(list, ","), func(s string) bool {
		pattern, err := protocol.ParseKindPattern(s)
		return err == nil && pattern.Match(kind)
	})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
