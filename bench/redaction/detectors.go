package main

import (
	"fmt"

	"github.com/zricethezav/gitleaks/v8/detect"

	"github.com/meup-protocol/meup/internal/safety"
	"github.com/meup-protocol/meup/internal/safety/redact"
	"github.com/meup-protocol/meup/internal/testing/safetytest"
	"github.com/meup-protocol/meup/protocol"
)

// finding is the result of a detector: the name of a rule and the secret.
type finding struct{ rule, secret string }

// ours is the leak detector of the gateway.
type ours struct{ leaks *redact.Set }

func newOurs() (*ours, error) {
	leaks, err := redact.Default()
	if err != nil {
		return nil, fmt.Errorf("make our detector: %w", err)
	}
	return &ours{leaks}, nil
}

func (o *ours) find(s *safetytest.Sample) []finding {
	var list []finding
	for _, f := range o.leaks.Find(nil, []byte(s.Key), []byte(s.Text), nil) {
		list = append(list, finding{f.Rule, s.Text[f.Start:f.End]})
	}
	return list
}

// gitleaks is the library with its default rules.
type gitleaks struct{ detector *detect.Detector }

func newGitleaks() (*gitleaks, error) {
	d, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		return nil, fmt.Errorf("make gitleaks' detector: %w", err)
	}
	return &gitleaks{d}, nil
}

func (g *gitleaks) find(s *safetytest.Sample) []finding {
	var list []finding
	for _, f := range g.detector.DetectString(asLine(s)) {
		list = append(list, finding{f.RuleID, f.Secret})
	}
	return list
}

// asLine formats a member as a line of text, for a detector that does not parse
// members.
func asLine(s *safetytest.Sample) string {
	if s.Key == "" {
		return s.Text
	}
	return `"` + s.Key + `": "` + s.Text + `"`
}

// pipeline is the complete processing of a payload in the gateway, except for
// JSON parsing: length, leaks, policy, sanitizer.
type pipeline struct{ p *safety.Pipeline }

func newPipeline() (*pipeline, error) {
	p, err := safety.New(safety.Config{})
	if err != nil {
		return nil, fmt.Errorf("make the pipeline: %w", err)
	}
	return &pipeline{p}, nil
}

// payload returns the payload of a thought with this text.
func payload(text string) (protocol.Value, error) {
	quoted, err := protocol.ParseJSON(thought(text), protocol.MaxDepth)
	if err != nil {
		return protocol.Value{}, fmt.Errorf("read the payload: %w", err)
	}
	return quoted.Root(), nil
}
