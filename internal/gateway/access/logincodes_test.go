package access_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/space/limit"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestLoginCodes(t *testing.T) {
	var codes access.LoginCodes
	code := codes.New("token", noon)
	if len(code) < 26 {
		t.Errorf("%q can be guessed", code)
	}
	for _, wrong := range []string{"", "x", code[1:], code + "x"} {
		if token, ok := codes.Redeem(wrong, noon); ok {
			t.Errorf("%q gives %q", wrong, token)
		}
	}
	if token, ok := codes.Redeem(code, noon.Add(access.CodeLifetime-1)); !ok || token != "token" {
		t.Errorf("the code gives %q, %v", token, ok)
	}
	if token, ok := codes.Redeem(code, noon); ok {
		t.Errorf("a second time it gives %q", token)
	}
	late := codes.New("token", noon)
	if token, ok := codes.Redeem(late, noon.Add(access.CodeLifetime)); ok {
		t.Errorf("too late it gives %q", token)
	}
	if _, ok := codes.Redeem(late, noon); ok {
		t.Error("what was forgotten is known again")
	}
}

// Of many concurrent redemptions, one succeeds.
// A code does not outlive a suspended machine, nor a wall clock that was set back.
func TestLoginCodes_ClockIsSet(t *testing.T) {
	for name, passed := range map[string]struct{ wall, elapsed time.Duration }{
		"suspended": {access.CodeLifetime, time.Second},
		"set back":  {-2 * time.Hour, access.CodeLifetime},
	} {
		t.Run(name, func(t *testing.T) {
			var codes access.LoginCodes
			start := time.Now()
			code := codes.New("token", start)
			if token, ok := codes.Redeem(code, testkit.ClockReading(t, start, passed.wall, passed.elapsed)); ok {
				t.Errorf("the code gives %q after its time", token)
			}
		})
	}
}

func TestLoginCode_ConcurrentRedeem(t *testing.T) {
	var codes access.LoginCodes
	code := codes.New("token", noon)
	var in atomic.Int64
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if _, ok := codes.Redeem(code, noon); ok {
				in.Add(1)
			}
		})
	}
	all.Wait()
	if in.Load() != 1 {
		t.Errorf("%d got in", in.Load())
	}
}

func TestLoginCodes_Bounded(t *testing.T) {
	var codes access.LoginCodes
	first := codes.New("first", noon)
	second := codes.New("second", noon)
	for range 63 {
		codes.New("more", noon)
	}
	if _, ok := codes.Redeem(first, noon); ok {
		t.Error("the oldest made no room")
	}
	if token, ok := codes.Redeem(second, noon); !ok || token != "second" {
		t.Errorf("the next one gives %q, %v", token, ok)
	}
}

func TestAdmission_Redeem(t *testing.T) {
	d := newAdmission(t)
	if _, refused := d.Redeem(here, "code", noon); refused == nil || protocol.AsError(refused).Code != protocol.CodeUnauthorized {
		t.Errorf("without codes: %v", refused)
	}
	d.Codes = &access.LoginCodes{}
	d.Attempts = limit.NewAttempts(limit.AttemptLimits{Failures: 2, Refill: time.Hour})
	code := d.Codes.New("lab-alice", noon)
	for i, want := range []protocol.Code{protocol.CodeUnauthorized, protocol.CodeUnauthorized, protocol.CodeTooMany} {
		if _, refused := d.Redeem(here, "guessed", noon); refused == nil || protocol.AsError(refused).Code != want {
			t.Errorf("guess %d: %v, want %s", i, refused, want)
		}
	}
	if token, refused := d.Redeem(here, code, noon); refused != nil || token != "lab-alice" {
		t.Errorf("a good code, from where others guess: %q, %v", token, refused)
	}
}
