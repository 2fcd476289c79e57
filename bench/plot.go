package main

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// Sizes of a picture.
const (
	plotWidth, plotHeight = 560, 260
	plotLeft, plotTop     = 60, 40
)

// chart is a picture of values over sizes; both axes are logarithmic.
type chart struct {
	Title string
	Sizes []int
	Size  string // label of the sizes
	Unit  string // of the values
	Lines []chartLine
}

// chartLine is one line of a chart, with a value for each size.
type chartLine struct {
	Name, Color string
	Values      []float64
}

// svg returns the picture. Lines without values are left out; values below 0.001 are
// drawn there.
func (c *chart) svg() string {
	least, most := math.Inf(1), 0.0
	for _, line := range c.Lines {
		for _, v := range line.Values {
			least, most = min(least, v), max(most, v)
		}
	}
	low, high := math.Floor(math.Log10(max(least, 1e-3))), math.Ceil(math.Log10(max(most, 1e-3)))
	if low == high {
		high++
	}
	x := func(i int) float64 {
		first, last := math.Log10(float64(c.Sizes[0])), math.Log10(float64(c.Sizes[len(c.Sizes)-1]))
		return plotLeft + plotWidth*(math.Log10(float64(c.Sizes[i]))-first)/max(last-first, 1e-9)
	}
	y := func(v float64) float64 {
		return plotTop + plotHeight*(high-math.Log10(max(v, 1e-3)))/(high-low)
	}
	var b strings.Builder
	title := html.EscapeString(c.Title)
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12" role="img" aria-label="%s">`+"\n",
		plotLeft+plotWidth+110, plotTop+plotHeight+50, title)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="#fff"/><text x="%d" y="20" font-size="14">%s</text>`+"\n", plotLeft, title)
	for e := low; e <= high; e++ {
		at := y(math.Pow(10, e))
		fmt.Fprintf(&b, `<path d="M%d %.1fh%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%g %s</text>`+"\n",
			plotLeft, at, plotWidth, plotLeft-6, at+4, math.Pow(10, e), c.Unit)
	}
	for i, n := range c.Sizes {
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%d</text>`+"\n", x(i), plotTop+plotHeight+18, n)
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", plotLeft+plotWidth/2, plotTop+plotHeight+38, c.Size)
	for _, line := range c.Lines {
		values := line.Values
		if len(values) == 0 {
			continue
		}
		var path strings.Builder
		for i, v := range values {
			fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(i, 1)], x(i), y(v))
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"><title>%s: %.3g %s at %d</title></circle>`+"\n",
				x(i), y(v), line.Color, line.Name, v, c.Unit, c.Sizes[i])
		}
		last := values[len(values)-1]
		fmt.Fprintf(&b, `<path d="%s" fill="none" stroke="%s" stroke-width="2"/><text x="%d" y="%.1f" fill="%s">%s %.2g</text>`+"\n",
			path.String(), line.Color, plotLeft+plotWidth+8, y(last)+4, line.Color, line.Name, last)
	}
	b.WriteString("</svg>\n")
	return b.String()
}
