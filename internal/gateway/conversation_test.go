package gateway_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/meup-protocol/meup/internal/meuptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConversations(t *testing.T) {
	meuptest.Conversations(t, "testdata/conversations")
}
