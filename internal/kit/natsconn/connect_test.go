package natsconn

import (
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// The error of an invalid address does not contain its password.
func TestCheckURLs_HidesPassword(t *testing.T) {
	for _, url := range []string{
		"nats://user:hush#hush@host:4222", "nats://user:hush%zz@host", "user:hush/x@host:hush", "nats://a:1,nats://u:hush[@b:2", "nats://h\x7fush:hush@host",
	} {
		nc, err := Connect(url, nil)
		if err == nil {
			nc.Close()
		}
		if err == nil || strings.Contains(err.Error(), "hush") || !strings.Contains(err.Error(), "cannot be read") {
			t.Errorf("%q: %v", url, err)
		}
	}
	nc, err := Connect("nats://127.0.0.1:1, 127.0.0.1:2", nil)
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
}
