//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
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
	alone bool // without other servers
}

func curves(o *options) []curve {
	pick := func(sizes ...int) []int { return sizes[:o.pick(len(sizes), 2)] }
	return []curve{
		{"cost-fanout.svg", "Fan-out: server CPU for one delivery", "receivers", "µs", "cpu", pick(1, 10, 100, 1000, 10_000), func(n int) func(s *process, o *options) (figures, error) { return fanOut(n, 64) }, false},
		{"cost-spaces.svg", "Spaces of 4, one envelope in flight in each: server CPU for one delivery", "spaces", "µs", "cpu", pick(1, 10, 100, 1000), manySpaces, false},
		{"cost-idle.svg", "Idle connections: server memory for one", "connections", "kB", "memory", pick(100, 1000, 10_000), idleConnections, false},
		{"cost-agents.svg", "Agents in one space, 64 envelopes in flight in all: server CPU for one delivery", "agents", "µs", "cpu", pick(1, 3, 10, 30, 60), agents, false},
		{"cost-log.svg", "Length of the log: first page of turns after a restart", "envelopes", "ms", "first", pick(10_000, 100_000, 1_000_000), longLog, true},
	}
}

// drawCurves measures the selected curves against all servers and writes a picture of
// each.
func (o *options) drawCurves(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // results are public
		return err
	}
	for _, c := range curves(o) {
		if !o.selects(strings.TrimSuffix(strings.TrimPrefix(c.file, "cost-"), ".svg")) {
			continue
		}
		lines := make(map[string][]float64)
		for _, n := range c.sizes {
			sc := scenario{name: c.title, columns: []column{{c.key, fmt.Sprintf("%s at %d %s", c.cost, n, c.size), 2}}, run: c.load(n), row: !c.alone}
			if !c.alone {
				sc.ring = 4096
			}
			runs, err := o.inTurn(sc)
			if err != nil {
				return fmt.Errorf("%s: %w", c.file, err)
			}
			for name, f := range runs {
				lines[name] = append(lines[name], medians(f)[c.key])
			}
		}
		chart := chart{Title: c.title, Sizes: c.sizes, Size: c.size, Unit: c.cost, Lines: []chartLine{
			{Name: gatewayName, Color: "#0b57d0", Values: lines[gatewayName]},
			{Name: bareName, Color: "#777", Values: lines[bareName]},
			{Name: jetStreamName, Color: "#b3261e", Values: lines[jetStreamName]},
		}}
		if err := os.WriteFile(filepath.Join(dir, c.file), []byte(chart.svg()), 0o644); err != nil { //nolint:gosec // results are public
			return err
		}
	}
	return nil
}
