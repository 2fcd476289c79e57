// Package seeds_test runs the examples of the documents that the protocol comes
// from, as they are written there, against a gateway.
package seeds_test

import (
	"testing"

	"github.com/meup-protocol/meup/internal/meuptest"
)

func TestExamples(t *testing.T) {
	meuptest.Conversations(t, ".")
}
