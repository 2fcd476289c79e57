package strictjson

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestDecimal_Equal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,3})(\.[0-9]{1,4})?([eE][+-]?[0-9]{1,2})?`)
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(b)
		p, q := ParseDecimal([]byte(a)), ParseDecimal([]byte(b))
		if p.Equal(q) != (x.Cmp(y) == 0) {
			t.Fatalf("%s and %s: equal %v", a, b, p.Equal(q))
		}
	})
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"0", "-0.000e99", true}, {"100", "1e2", true}, {"0.001", "1e-3", true}, {"1.0", "1", true},
		{"0.0010", "10E-4", true}, {"12.5", "125", false}, {"1", "-1", false}, {"1.05", "10.5", false},
		{"1e000000000000000000000001", "10", true}, {"1e99999999999999999999", "1", false},
		{"1e92233720368547758085", "1e5", false}, {"1e-92233720368547758085", "1e-5", false}, // equal modulo 2^64
	} {
		p, q := ParseDecimal([]byte(tt.a)), ParseDecimal([]byte(tt.b))
		if p.Equal(q) != tt.want || q.Equal(p) != tt.want {
			t.Errorf("%s and %s: equal %v", tt.a, tt.b, !tt.want)
		}
	}
}

func TestValue_AppendCanonical(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":[true,null,"x"]}`, ` { "b" : [ true , null , "\u0078" ] , "\u0061" : 1.0e0 } `, true},
		{`{"a":1}`, `{"a":1,"b":null}`, false},
		{`{"a":1,"b":null}`, `{"a":1,"c":null}`, false},
		{`{"a":1}`, `{"A":1}`, false},
		{`[1,2]`, `[2,1]`, false},
		{`[1,2]`, `[1,2,3]`, false},
		{`[1,2,3]`, `[1,2]`, false},
		{`12345678901234567890`, `12345678901234567891`, false},
		{`12345678901234567890`, `1234567890123456789e1`, true},
		{`0.1`, `0.10000000000000000555`, false},
		{`1e400`, `1e401`, false},
		{`1e9999999999999999999998`, `1e9999999999999999999999`, false},
		{`1e9999999999999999999999`, `1e9999999999999999999999`, true},
		{`-0`, `0`, true},
		{`1`, `"1"`, false},
		{`null`, `false`, false},
		{`{}`, `[]`, false},
		{`"\u00e9"`, `"é"`, true},
		{`"e\u0301"`, `"é"`, false},
	} {
		t.Run(tt.a+" "+tt.b, func(t *testing.T) {
			a, b := parse(t, tt.a), parse(t, tt.b)
			x, y := string(a.AppendCanonical(nil)), string(b.AppendCanonical(nil))
			if (x == y) != tt.want {
				t.Errorf("%s and %s", x, y)
			}
		})
	}
	if text := (Value{}).AppendCanonical(nil); len(text) > 0 {
		t.Errorf("an absent value: %s", text)
	}
}

// TestValue_AppendCanonicalOfManyKeys bounds the allocations for an object of
// 100,000 members: one for each key, and a few.
func TestValue_AppendCanonicalOfManyKeys(t *testing.T) {
	const keys = 100_000
	var text strings.Builder
	for i := range keys {
		fmt.Fprintf(&text, `,"%d":0`, i)
	}
	v := parse(t, "{"+text.String()[1:]+"}")
	buf := v.AppendCanonical(nil)
	if n := testing.AllocsPerRun(1, func() { buf = v.AppendCanonical(buf[:0]) }); n > keys+10 {
		t.Errorf("%.0f allocations", n)
	}
}
