package llm

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
	"testing"
)

// words is the decoder of a format of one word in each event; "." ends an
// answer, and "busy" is a refusal.
type words struct {
	emit func(Delta)
	all  []string
}

func (w *words) Event(ev ServerEvent) (last bool, err error) {
	switch word := string(ev.Data); word {
	case ".":
		return true, nil
	case "busy":
		return false, &Error{Provider: "acme", Status: 503}
	case "odd":
		return false, errors.New("odd word")
	default:
		w.all = append(w.all, word)
		if w.emit != nil {
			w.emit(Delta{Text: word})
		}
	}
	return false, nil
}

func (w *words) Document(body []byte) error {
	_, err := w.Event(ServerEvent{Data: body})
	return err
}

func (w *words) Complete() bool { return len(w.all) == 3 }

func (w *words) Response() Response {
	return Response{Message: Message{Text: strings.Join(w.all, " ")}}
}

func newWords(emit func(Delta)) Decoder { return &words{emit: emit} }

func ask(ctx context.Context, c *Client, whole bool) iter.Seq2[Event, error] {
	return c.Generate(ctx, "/", nil, whole, newWords)
}

// collect returns the events as text: pieces, the answer in brackets, and the
// error.
func collect(events iter.Seq2[Event, error]) string {
	var out []string
	for event, err := range events {
		switch {
		case err != nil:
			out = append(out, "error: "+err.Error())
		case event.Response != nil:
			out = append(out, "["+event.Response.Message.Text+"]")
		default:
			out = append(out, event.Text)
		}
	}
	return strings.Join(out, " ")
}

func TestGenerate(t *testing.T) {
	data := func(words ...string) string { return "data: " + strings.Join(words, "\n\ndata: ") + "\n\n" }
	for name, tc := range map[string]struct {
		kind    string
		answers []string // of the attempts
		whole   bool
		want    string
	}{
		"pieces":                 {"", []string{data("a", "b", ".")}, false, "a b [a b]"},
		"whole":                  {"", []string{data("a", "b", ".")}, true, "[a b]"},
		"complete at its end":    {"", []string{data("a", "b", "c")}, false, "a b c [a b c]"},
		"cut":                    {"", []string{data("a", "b")}, false, "a b error: read answer of acme: answer cut off"},
		"blank events":           {"", []string{data("", "a", "  ", ".")}, false, "a [a]"},
		"an emoji in two events": {"", []string{data(`{"t":"\ud83d"}`, `{"t":"\ude00"}`, ".")}, false, `{"t":""} {"t":"\ud83d\ude00"} [{"t":""} {"t":"\ud83d\ude00"}]`},
		"invalid":                {"", []string{data("a", "odd")}, false, "a error: read answer of acme: event 2: odd word"},
		"busy":                   {"", []string{data("busy"), data("a", ".")}, false, "a [a]"},
		"busy after a piece":     {"", []string{data("a", "busy"), data("b", ".")}, false, "a error: acme refused with status 503"},
		"whole, busy at the end": {"", []string{data("a", "busy"), data("b", ".")}, true, "[b]"},
		"one document":           {"application/json", []string{"a"}, false, "a [a]"},
		"an empty document":      {"application/json", []string{"\n\n"}, false, "error: read answer of acme: the answer is empty: answer cut off"},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tc.kind)
				_, _ = io.WriteString(w, tc.answers[asked])
				asked++
			})
			if got := collect(ask(t.Context(), c, tc.whole)); got != tc.want || asked != len(tc.answers) && !strings.Contains(name, "after a piece") {
				t.Errorf("got %q, want %q; %d requests", got, tc.want, asked)
			}
		})
	}
}

// TestGenerate_Left checks that the request ends when the caller leaves the
// loop.
func TestGenerate_Left(t *testing.T) {
	gone := make(chan struct{})
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		defer close(gone)
		sse(w, "data: a\n\ndata: b\n\n")
		<-r.Context().Done()
	})
	for event, err := range ask(t.Context(), c, false) {
		if err != nil || event.Text != "a" {
			t.Fatalf("%+v, %v", event, err)
		}
		break
	}
	<-gone
}

func TestGenerate_NotSentBeforeTheLoop(t *testing.T) {
	asked := 0
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) { asked++; sse(w, "data: .\n\n") })
	events := ask(t.Context(), c, false)
	if asked != 0 {
		t.Error("sent without a loop")
	}
	for range 2 { // each loop is a request
		collect(events)
	}
	if asked != 2 {
		t.Errorf("%d requests", asked)
	}
}

func TestGenerate_Canceled(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		sse(w, "data: a\n\n")
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for _, err := range ask(ctx, c, false) {
		cancel()
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Error(last)
	}
}

// TestAdapt_Begun checks that an answer of which a piece was passed on is not
// requested again.
func TestAdapt_Begun(t *testing.T) {
	asked := 0
	got := collect(AdaptRequest(func() iter.Seq2[Event, error] {
		asked++
		return func(yield func(Event, error) bool) {
			if yield(Event{Delta: Delta{Text: "piece"}}, nil) {
				yield(Event{}, errors.New("refused"))
			}
		}
	}, func(error) bool { return asked == 1 }))
	if want := "piece error: refused"; got != want || asked != 1 {
		t.Errorf("got %q after %d requests, want %q after one", got, asked, want)
	}
}

func TestAdapt(t *testing.T) {
	refused := errors.New("refused")
	for name, tc := range map[string]struct {
		answers []error // of the requests; nil: an answer
		adapts  int     // how often adapt agrees
		want    string
		asked   int
	}{
		"taken":     {[]error{nil}, 1, "piece [done]", 1},
		"adapted":   {[]error{refused, nil}, 1, "piece [done]", 2},
		"twice":     {[]error{refused, refused, nil}, 2, "piece [done]", 3},
		"given up":  {[]error{refused, refused, nil}, 1, "error: refused", 2},
		"not about": {[]error{refused, nil}, 0, "error: refused", 1},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			got := collect(AdaptRequest(func() iter.Seq2[Event, error] {
				asked++
				err := tc.answers[asked-1]
				return func(yield func(Event, error) bool) {
					if err != nil {
						yield(Event{}, err)
						return
					}
					if yield(Event{Delta: Delta{Text: "piece"}}, nil) {
						yield(Event{Response: &Response{Message: Message{Text: "done"}}}, nil)
					}
				}
			}, func(error) bool { tc.adapts--; return tc.adapts >= 0 }))
			if got != tc.want || asked != tc.asked {
				t.Errorf("got %q after %d requests, want %q after %d", got, asked, tc.want, tc.asked)
			}
		})
	}
	for _, err := range AdaptRequest(func() iter.Seq2[Event, error] {
		return func(yield func(Event, error) bool) {
			if yield(Event{}, nil) {
				t.Error("continued after the caller has left")
			}
		}
	}, func(error) bool { return true }) {
		if err != nil {
			t.Error(err)
		}
		break
	}
}
