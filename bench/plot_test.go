package main

import (
	"encoding/xml"
	"strings"
	"testing"
)

func TestChart_SVG(t *testing.T) {
	c := chart{Title: "A <b>", Size: "receivers", Unit: "µs", Sizes: []int{1, 10, 100}, Lines: []chartLine{
		{"ours", "#00f", []float64{5, 0.5, 0.25}}, {"bare", "#777", []float64{1, 0.1, 0}}, {Name: "none"},
	}}
	got := c.svg()
	if err := xml.Unmarshal([]byte(got), new(struct{})); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{">100<", ">receivers<", ">ours 0.25<", "M60.0 ", "L620.0 "} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	for _, not := range []string{"NaN", "Inf", "none<"} {
		if strings.Contains(got, not) {
			t.Errorf("%q in\n%s", not, got)
		}
	}
}
