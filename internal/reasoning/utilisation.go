package reasoning

import "fmt"

// Utilisation is the share of a budget that a context may use.
type Utilisation int

// The shares. Full is the zero value.
const (
	Full Utilisation = iota
	Half             // 1/2
	Low              // 1/4
)

var utilisations = [...]string{Full: "full", Half: "half", Low: "low"}

// ParseUtilisation reads "full", "half" or "low"; "" stands for full.
func ParseUtilisation(s string) (Utilisation, error) {
	if s == "" {
		return Full, nil
	}
	for u, name := range utilisations {
		if s == name {
			return Utilisation(u), nil
		}
	}
	return Full, fmt.Errorf("context utilisation %q is none of full, half, low", s)
}

// String is the word that ParseUtilisation reads.
func (u Utilisation) String() string {
	if u < Full || u > Low {
		return fmt.Sprintf("Utilisation(%d)", int(u))
	}
	return utilisations[u]
}

// of is this share of a budget.
func (u Utilisation) of(budget int) int {
	switch u {
	case Half:
		return budget / 2
	case Low:
		return budget / 4
	default:
		return budget
	}
}
