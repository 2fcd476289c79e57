package participant

import (
	"testing"

	"github.com/meup-protocol/meup/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }
