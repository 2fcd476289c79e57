package a2a

import (
	"errors"
	"strings"
	"testing"

	wire "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/meup-protocol/meup/protocol"
)

func FuzzDecode(f *testing.F) {
	f.Add(`{"message":{"messageId":"m","contextId":"c","role":"ROLE_USER","parts":[{"text":"hi"},{"data":{"a":1}}]},"configuration":{"historyLength":"2","acceptedOutputModes":["text/*"]}}`)
	f.Add(`{"message":{"messageId":"m","taskId":"t","role":"ROLE_USER","parts":[{"data":{"proposal":"p","decision":"approve"}}]}}`)
	f.Add(`{"pageSize":"10","pageToken":"12.3","status":"TASK_STATE_WORKING","statusTimestampAfter":"2026-11-20T09:15:00Z"}`)
	f.Add(`{"message":{"parts":{"text":[]}},"pageSize":-1}`)
	f.Fuzz(func(t *testing.T, text string) {
		doc, err := protocol.ParseJSON([]byte(text), protocol.MaxDepth)
		if err != nil {
			return
		}
		m, err := decodeMessage(doc.Root())
		if err == nil && (m.id == "" || len(m.id) > maxID || m.decision == nil && strings.TrimSpace(m.text) == "" || m.decision != nil && m.task == "" || m.history < -1) {
			t.Errorf("%+v", m)
		}
		if err != nil && faultOf(err).code == rpcInternal {
			t.Error(err)
		}
		s, err := decodeSelection(doc.Root())
		if err == nil && (s.size < 1 || s.size > maxPage || s.skipped < 0) {
			t.Errorf("%+v", s)
		}
	})
}

// A decision is an approval only if it is the word approve.
func TestDecode_Decision(t *testing.T) {
	for data, want := range map[string]string{
		`{"proposal":"p","decision":"approve"}`: "approve", `{"proposal":"p","decision":"reject"}`: "reject",
		`{"proposal":"p","decision":true}`: "", `{"proposal":"p","decision":"Approve"}`: "", `{"proposal":"p"}`: "", `{"proposal":"a b","decision":"approve"}`: "",
		`{"proposal":"p","decision":"approve"}},{"data":{"proposal":"q","decision":"approve"}`: "",
	} {
		t.Run(data, func(t *testing.T) {
			doc, err := protocol.ParseJSON([]byte(`{"message":{"messageId":"m","taskId":"t","role":"ROLE_USER","parts":[{"text":"yes, approve"},{"data":`+data+`}]}}`), protocol.MaxDepth)
			if err != nil {
				t.Fatal(err)
			}
			m, err := decodeMessage(doc.Root())
			if want == "" {
				if !errors.Is(err, wire.ErrInvalidParams) {
					t.Error(err)
				}
			} else if err != nil || m.decision == nil || m.decision.approve != (want == "approve") {
				t.Errorf("%+v %v", m, err)
			}
		})
	}
}

func TestCursor(t *testing.T) {
	for _, text := range []string{"", "12", "12.3", "0.1"} {
		c, err := parseCursor(text)
		if got := c.String(); err != nil || text != "" && got != text {
			t.Errorf("%q: %q %v", text, got, err)
		}
	}
	for _, text := range []string{"x", "-1", "1.-1", "1.", "1.x", ".1", "99999999999999999999999"} {
		if c, err := parseCursor(text); err == nil {
			t.Errorf("%q: %v", text, c)
		}
	}
	for _, test := range []struct {
		cursor, event string
		want          bool
	}{{"5", "5.3", true}, {"5.2", "5.2", true}, {"5.2", "5.3", false}, {"5", "6.1", false}, {"6.1", "5.9", true}, {"", "1.1", false}} {
		c, _ := parseCursor(test.cursor)
		e, _ := parseCursor(test.event)
		if c.covers(e) != test.want {
			t.Errorf("%s covers %s: %v", test.cursor, test.event, !test.want)
		}
	}
}

func TestRoute(t *testing.T) {
	for path, want := range map[string]string{
		"POST message:send": "SendMessage ", "POST message:stream": "SendStreamingMessage ", "GET tasks": "ListTasks ", "GET extendedAgentCard": "GetExtendedAgentCard ",
		"GET tasks/a:b": "GetTask a:b", "POST tasks/a:b:cancel": "CancelTask a:b", "POST tasks/a:subscribe": "SubscribeToTask a", "GET tasks/a:subscribe": "SubscribeToTask a",
		"GET tasks/a/pushNotificationConfigs/b": "GetTaskPushNotificationConfig a", "DELETE tasks/a/pushNotificationConfigs/b": "GetTaskPushNotificationConfig a",
		"GET message:send": " ", "POST tasks/a": " ", "GET tasks/": " ", "GET tasks/a/b": " ", "DELETE tasks/a:cancel": " ",
	} {
		method, rest, _ := strings.Cut(path, " ")
		if operation, id := route(method, rest); operation+" "+id != want {
			t.Errorf("%s: %s %s", path, operation, id)
		}
	}
}
