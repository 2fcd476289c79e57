package contextwindow

import (
	"strings"
	"unicode/utf8"

	"github.com/meup-protocol/meup/internal/kit/textutil"
)

const (
	maxSmall = 1_000  // characters of a result that planning shows whole
	maxError = 20_000 // characters of an error that are shown
)

// form is a way to show a result.
type form uint8

const (
	whole form = iota
	preview
	summary
	dropped // replaced by a mark
)

// rendering is a result in one form.
type rendering struct {
	form   form
	text   string
	tokens int
	isCut  bool // a part of the original is missing
}

func newRendering(f form, text string, isCut bool) rendering {
	return rendering{form: f, text: text, tokens: perMessage + EstimateTokens(text), isCut: isCut}
}

// source is one result with its cached previews and summaries.
type source struct {
	tool    string
	result  Result
	missing bool // the call has no result

	ok         bool
	body       string
	bodyTokens int
	chars      int

	preview   rendering // made on first use
	summary   rendering // empty: none
	attempted bool      // a summary was requested
}

// newSource returns the source of a result, which may be nil.
func newSource(tool string, res *Result) *source {
	s := &source{tool: tool, missing: res == nil, body: "no result"}
	if res != nil {
		s.result, s.ok = *res, res.OK()
		text := res.Text
		switch {
		case s.ok || strings.Contains(text, res.Error):
		case text == "":
			text = res.Error
		default:
			text = res.Error + "\n" + text
		}
		s.body = strings.ToValidUTF8(text, "\uFFFD")
	}
	s.chars = utf8.RuneCountInString(s.body)
	s.bodyTokens = EstimateTokens(s.body)
	return s
}

// isLarge reports whether planning shows the result in part.
func (s *source) isLarge() bool { return s.ok && s.chars > maxSmall }

// head returns the first line of the message, with the outcome.
func (s *source) head(note string) string {
	outcome := "FAILED"
	switch {
	case s.missing:
	case s.result.Outcome != "" && s.result.Outcome != Success && s.result.Outcome != Failure:
		outcome = strings.ToUpper(string(s.result.Outcome))
	case s.ok:
		outcome = "SUCCESS"
	}
	if note != "" {
		outcome += " (" + note + ")"
	}
	if s.result.Ref != "" {
		outcome += " [" + s.result.Ref + "]"
	}
	return "Tool " + s.tool + ": " + outcome + "\n"
}

// initial returns the form that is shown while the budget allows it. For
// Synthesis it is a preview, which is expanded before summaries are used.
func (s *source) initial(g Goal) rendering {
	if !s.isLarge() {
		return s.whole()
	}
	if g == Planning && s.summary.text != "" {
		return s.summary
	}
	if s.preview.text == "" {
		text, isCut := previewOf(s.body)
		note := ""
		if isCut { // otherwise only white space between JSON values is missing
			note = "preview"
		}
		s.preview = newRendering(preview, s.head(note)+text, isCut)
	}
	return s.preview
}

func (s *source) whole() rendering {
	body, rest := s.body, 0
	if !s.ok {
		body, rest = cutText(body, maxError)
		if rest > 0 {
			body += moreCharacters(rest)
		}
	}
	if body == "" {
		body = "(nothing)"
	}
	return newRendering(whole, s.head("")+body, rest > 0)
}

// mark returns the text that replaces a dropped result.
func (s *source) mark(g Goal) rendering {
	text := "[left out: " + textutil.Count(s.chars, "character")
	if s.ok && g == Planning {
		text += "; call the tool again if you need it"
	}
	return newRendering(dropped, s.head("")+text+"]", true)
}
