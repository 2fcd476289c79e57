package planner

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/meup-protocol/meup/protocol"
)

// Bounds of numbers. The validator converts all numbers to fractions of
// arbitrary precision: 1e999999 costs it megabytes, and it panics at 1e9999999.
// Numbers within these bounds, in bytes and in exponent, are cheap and cover
// every float64.
const (
	maxNumber   = 1_000
	maxExponent = 400
)

// checkNumbers returns an error if v contains a number beyond the bounds.
func checkNumbers(v protocol.Value) error {
	switch v.Type() {
	case protocol.TypeObject:
		for _, x := range v.Members {
			if err := checkNumbers(x); err != nil {
				return err
			}
		}
	case protocol.TypeArray:
		for x := range v.Elements {
			if err := checkNumbers(x); err != nil {
				return err
			}
		}
	case protocol.TypeNumber:
		return checkNumber(string(v.Raw()))
	}
	return nil
}

func checkNumber(s string) error {
	if len(s) > maxNumber {
		return fmt.Errorf("a number of %d characters is longer than the %d that are taken", len(s), maxNumber)
	}
	at := strings.IndexAny(s, "eE")
	if at < 0 {
		return nil
	}
	e, err := strconv.Atoi(s[at+1:])
	if err != nil || e < -maxExponent || e > maxExponent {
		return fmt.Errorf("the number %.40s has an exponent beyond the %d that is taken", s, maxExponent)
	}
	return nil
}
