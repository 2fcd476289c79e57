package bridge

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/meup-protocol/meup/protocol"
)

// What is remembered of listeners, at most.
const (
	maxListeners     = 256 // of one notification; the one that asked longest ago goes
	maxSubscriptions = 1024
	maxURI           = 8 << 10 // bytes of one that is subscribed to
)

// listeners are those who are to hear what the server says unasked.
type listeners struct {
	mu       sync.Mutex
	lists    map[string][]protocol.ParticipantID // by notification; who asked last is last
	subs     []subscription
	progress map[string]*progress // by the bridge's token; at most one for each call
	logLevel string               // the one that was set last; empty: none
}

type subscription struct {
	uri      string
	asker    protocol.ParticipantID
	envelope protocol.ID // that asked for it
}

// progress is who asked to be told how far a call is.
type progress struct {
	asker    protocol.ParticipantID
	envelope protocol.ID
	place    protocol.ContextPath
	token    json.RawMessage // as the asker wrote it
}

func newListeners() *listeners {
	return &listeners{lists: make(map[string][]protocol.ParticipantID), progress: make(map[string]*progress)}
}

// listen notes that somebody is to hear a notification.
func (l *listeners) listen(method string, who protocol.ParticipantID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := slices.DeleteFunc(l.lists[method], func(id protocol.ParticipantID) bool { return id == who })
	if list = append(list, who); len(list) > maxListeners {
		list = slices.Delete(list, 0, 1)
	}
	l.lists[method] = list
}

func (l *listeners) of(method string) []protocol.ParticipantID {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lists[method])
}

// forget takes a participant out of everything.
func (l *listeners) forget(who protocol.ParticipantID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for method, list := range l.lists {
		l.lists[method] = slices.DeleteFunc(list, func(id protocol.ParticipantID) bool { return id == who })
	}
	l.subs = slices.DeleteFunc(l.subs, func(s subscription) bool { return s.asker == who })
}

// subscribe notes a subscription, or reports that there are too many.
func (l *listeners) subscribe(s subscription) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, x := range l.subs {
		if x.uri == s.uri && x.asker == s.asker {
			l.subs[i] = s
			return true
		}
	}
	if len(l.subs) >= maxSubscriptions {
		return false
	}
	l.subs = append(l.subs, s)
	return true
}

// unsubscribe reports whether nobody is subscribed to the resource any more.
func (l *listeners) unsubscribe(uri string, who protocol.ParticipantID) (last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.subs = slices.DeleteFunc(l.subs, func(s subscription) bool { return s.uri == uri && s.asker == who })
	return !slices.ContainsFunc(l.subs, func(s subscription) bool { return s.uri == uri })
}

// subscribers are those of a resource and of what contains it: a server may
// name the part that changed.
func (l *listeners) subscribers(uri string) []subscription {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []subscription
	for _, s := range l.subs {
		if s.uri == uri || strings.HasPrefix(uri, strings.TrimSuffix(s.uri, "/")+"/") {
			out = append(out, s)
		}
	}
	return out
}

func (l *listeners) uris() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, s := range l.subs {
		out = append(out, s.uri)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (l *listeners) expect(token string, p *progress) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.progress[token] = p
}

func (l *listeners) expectNoMore(token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.progress, token)
}

func (l *listeners) expected(token string) *progress {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.progress[token]
}

func (l *listeners) setLevel(level string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.logLevel = level
}

func (l *listeners) level() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.logLevel
}
