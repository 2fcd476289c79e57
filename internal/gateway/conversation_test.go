package gateway_test

import (
	"testing"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/internal/testing/webtest"
)

func TestMain(m *testing.M) { testkit.Main(webtest.Tests{M: m}) }

func TestConversations(t *testing.T) {
	meuptest.Conversations(t, "testdata/conversations")
}
