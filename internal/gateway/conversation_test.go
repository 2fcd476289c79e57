package gateway_test

import (
	"testing"

	"github.com/meup-protocol/meup/internal/meuptest"
	"github.com/meup-protocol/meup/internal/testkit"
	"github.com/meup-protocol/meup/internal/webtest"
)

func TestMain(m *testing.M) { testkit.Main(webtest.Tests{M: m}) }

func TestConversations(t *testing.T) {
	meuptest.Conversations(t, "testdata/conversations")
}
