//go:build linux

package main

import (
	"fmt"
	"html"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// curve is the cost of a load at growing sizes.
type curve struct {
	file  string // of the picture
	title string
	size  string // label of the x axis
	cost  string // label of the y axis
	key   string // of the figure
	sizes []int
	load  func(n int) func(s *process, o *options) (figures, error)
}

func curves(o *options) []curve {
	pick := func(sizes ...int) []int { return sizes[:o.pick(len(sizes), 2)] }
	return []curve{
		{"fanout.svg", "Fan-out: server CPU for one delivery", "receivers", "µs", "cpu", pick(1, 10, 100, 1000, 10_000), fanOut},
		{"spaces.svg", "Spaces of 4, one envelope in flight in each: server CPU for one delivery", "spaces", "µs", "cpu", pick(1, 10, 100, 1000), manySpaces},
		{"idle.svg", "Idle connections: server memory for one", "connections", "kB", "memory", pick(100, 1000, 10_000), idleConnections},
	}
}

// drawCurves measures all curves against the three servers and writes a picture of
// each.
func (o *options) drawCurves(dir string) error {
	for _, c := range curves(o) {
		lines := make(map[string][]float64)
		for _, n := range c.sizes {
			sc := scenario{name: c.title, columns: []column{{c.key, fmt.Sprintf("%s at %d %s", c.cost, n, c.size), 2}}, ring: 4096, run: c.load(n)}
			runs, err := o.inTurn(sc, true)
			if err != nil {
				return fmt.Errorf("%s: %w", c.file, err)
			}
			for name, f := range runs {
				lines[name] = append(lines[name], medians(f)[c.key])
			}
		}
		if err := os.WriteFile(filepath.Join(dir, c.file), []byte(c.svg(lines)), 0o644); err != nil { //nolint:gosec // results are public
			return err
		}
	}
	return nil
}

// Sizes of a picture.
const (
	plotWidth, plotHeight = 560, 260
	plotLeft, plotTop     = 60, 40
)

// svg returns the picture: both axes are logarithmic, with a line for each server.
func (c *curve) svg(lines map[string][]float64) string {
	least, most := math.Inf(1), 0.0
	for _, values := range lines {
		least, most = min(least, slices.Min(values)), max(most, slices.Max(values))
	}
	low, high := math.Floor(math.Log10(max(least, 1e-3))), math.Ceil(math.Log10(max(most, 1e-3)))
	if low == high {
		high++
	}
	x := func(i int) float64 {
		first, last := math.Log10(float64(c.sizes[0])), math.Log10(float64(c.sizes[len(c.sizes)-1]))
		return plotLeft + plotWidth*(math.Log10(float64(c.sizes[i]))-first)/max(last-first, 1e-9)
	}
	y := func(v float64) float64 {
		return plotTop + plotHeight*(high-math.Log10(max(v, 1e-3)))/(high-low)
	}
	var b strings.Builder
	title := html.EscapeString(c.title)
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12" role="img" aria-label="%s">`+"\n",
		plotLeft+plotWidth+110, plotTop+plotHeight+50, title)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="#fff"/><text x="%d" y="20" font-size="14">%s</text>`+"\n", plotLeft, title)
	for e := low; e <= high; e++ {
		at := y(math.Pow(10, e))
		fmt.Fprintf(&b, `<path d="M%d %.1fh%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%g %s</text>`+"\n",
			plotLeft, at, plotWidth, plotLeft-6, at+4, math.Pow(10, e), c.cost)
	}
	for i, n := range c.sizes {
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%d</text>`+"\n", x(i), plotTop+plotHeight+18, n)
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", plotLeft+plotWidth/2, plotTop+plotHeight+38, c.size)
	for _, line := range []struct{ name, color string }{{gatewayName, "#0b57d0"}, {bareName, "#777"}, {natsName, "#b3261e"}} {
		values := lines[line.name]
		if len(values) == 0 {
			continue
		}
		var path strings.Builder
		for i, v := range values {
			fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(i, 1)], x(i), y(v))
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"><title>%s: %.3g %s at %d</title></circle>`+"\n",
				x(i), y(v), line.color, line.name, v, c.cost, c.sizes[i])
		}
		last := values[len(values)-1]
		fmt.Fprintf(&b, `<path d="%s" fill="none" stroke="%s" stroke-width="2"/><text x="%d" y="%.1f" fill="%s">%s %.2g</text>`+"\n",
			path.String(), line.color, plotLeft+plotWidth+8, y(last)+4, line.color, line.name, last)
	}
	b.WriteString("</svg>\n")
	return b.String()
}
