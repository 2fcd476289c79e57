package exchange

import (
	"strings"

	"github.com/meup-protocol/meup/protocol"
)

// Usage is what models used for a piece of work, as its participant reports it. The counts
// are not negative, and at most MaxUsage.
type Usage struct {
	Input, Output     int64 // tokens
	Cached, Reasoning int64 // of Input, and of Output
	Tokens            int64 // Input and Output; of a report that has only their sum, that
	Cost              float64
	Currency          string // of Cost: three capital letters; "" without a cost
	Uncounted         int64  // answers of models without a count
	// Unreadable: one of the numbers is no number, negative or too large. It counts as absent.
	Unreadable bool
}

// MaxUsage bounds each number of a report.
const MaxUsage = 1 << 40

// DefaultCurrency is the currency of a cost that names none.
const DefaultCurrency = "USD"

// ReadUsage returns the usage in the metadata of the end of a context, or of a status.
func ReadUsage(metadata protocol.Value) Usage {
	var u Usage
	tokens := metadata.Get("usage")
	u.Input, u.Output = u.count(tokens.Get("input_tokens")), u.count(tokens.Get("output_tokens"))
	u.Cached, u.Reasoning = min(u.count(tokens.Get("cached_tokens")), u.Input), min(u.count(tokens.Get("reasoning_tokens")), u.Output)
	u.Tokens = u.Input + u.Output
	if u.Tokens == 0 {
		u.Tokens = u.count(metadata.Get("tokens"))
	}
	u.Uncounted = u.count(metadata.Get("uncounted"))
	cost, currency := metadata.Get("cost"), metadata.Get("currency")
	n, ok := cost.Float()
	switch {
	case !cost.Exists():
	case !ok || n < 0 || n > MaxUsage || currency.Exists() && !IsCurrency(currency.Text()):
		u.Unreadable = true
	case n > 0:
		u.Cost, u.Currency = n, DefaultCurrency
		if currency.Exists() {
			u.Currency = strings.Clone(currency.Text())
		}
	}
	return u
}

func (u *Usage) count(v protocol.Value) int64 {
	if !v.Exists() {
		return 0
	}
	n, ok := v.Int()
	if !ok || n < 0 || n > MaxUsage {
		u.Unreadable = true
		return 0
	}
	return n
}

// IsCurrency reports whether a text is the code of a currency; other texts may be secrets.
func IsCurrency(s string) bool {
	return len(s) == 3 && !strings.ContainsFunc(s, func(c rune) bool { return c < 'A' || c > 'Z' })
}
