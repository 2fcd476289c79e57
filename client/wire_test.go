package client

import (
	"strings"
	"testing"
)

func TestDecode_ErrorMessage(t *testing.T) {
	env, err := decode([]byte(`{"id":"a","kind":"chat","payload":{},"seq":3}`))
	if err != nil || env.ID != "a" || env.Seq != 3 {
		t.Errorf("%+v, %v", env, err)
	}
	for _, frame := range []string{`[`, `[]`, `{}`} {
		if _, err := decode([]byte(frame)); err == nil || !strings.HasPrefix(err.Error(), "read frame of the gateway: ") {
			t.Errorf("%s: %v", frame, err)
		}
	}
}
