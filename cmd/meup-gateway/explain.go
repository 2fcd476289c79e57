package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/gateway/config"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/protocol"
	"github.com/meup-protocol/meup/schemas"
)

type explainFlags struct {
	config      string
	space       string
	participant string
	envelope    string
	dialect     string
}

func newExplain() *cobra.Command {
	var f explainFlags
	c := &cobra.Command{
		Use:   "explain --config FILE --participant P --envelope FILE",
		Short: "Shows which capability allows or denies an envelope, and why",
		Long: `explain checks an envelope (a JSON file, or - for standard input) against the
configured capabilities of a participant, and prints for each one whether it
selects the envelope and why, and whether a rule of deciders or human_only
applies. It exits with 0 if the envelope would be allowed and with 1 if not.

Capabilities that were granted or revoked at run time are in the log and not in
the configuration; explain ignores them.`,
		Example: "  meup-gateway explain --config meup.yaml --space lab --participant planner --envelope call.json",
		Args:    program.Args(),
	}
	fl := c.Flags()
	fl.StringVar(&f.config, "config", "", "configuration file (required)")
	fl.StringVar(&f.space, "space", "", "space (default: the only one)")
	fl.StringVar(&f.participant, "participant", "", "participant (required)")
	fl.StringVar(&f.envelope, "envelope", "", "file with the envelope, - for standard input (required)")
	fl.StringVar(&f.dialect, "dialect", protocol.DialectMEUP01.String(), "dialect of the envelope")
	c.RunE = func(c *cobra.Command, _ []string) error {
		out := c.OutOrStdout()
		for name, value := range map[string]string{"--config": f.config, "--participant": f.participant, "--envelope": f.envelope} {
			if value == "" {
				return program.Usagef("%s is required", name)
			}
		}
		cfg, faults := config.Load(f.config)
		if cfg == nil {
			for _, fault := range faults {
				fmt.Fprintln(out, fault)
			}
			return errReported
		}
		s, err := pickSpace(cfg, f.space)
		if err != nil {
			return err
		}
		from := protocol.ParticipantID(f.participant)
		rights := authority.Config{Participants: make(map[protocol.ParticipantID]authority.ParticipantConfig), Deciders: s.Deciders}
		var held []*capability.Capability
		configured := false
		for _, p := range s.Participants {
			rights.Participants[p.ID] = authority.ParticipantConfig{Root: p.Root}
			if p.ID == from {
				held, configured = p.Capabilities, true
			}
		}
		switch {
		case configured:
		case s.JWT != nil:
			held = s.JWT.Capabilities
		default:
			return fmt.Errorf("the space %s has no participant %q", s.Name, from)
		}
		inbound, err := readEnvelope(f, c.InOrStdin())
		if err != nil {
			return err
		}
		e := &inbound.Envelope
		request := rights.Request(from, e, inbound.Payload)
		set := capability.NewSet(held...)
		for _, reason := range set.Explain(&request) {
			fmt.Fprintln(out, reason)
		}
		if e.Kind.IsReserved() {
			fmt.Fprintf(out, "denied: only the gateway sends %s\n", e.Kind)
			return errReported
		}
		d := set.Decide(&request)
		rule := explainDeciders(out, &rights, &request)
		switch {
		case d.Allowed && e.Kind == protocol.KindMCPProposal && rule != nil && rule.Capability.Deny():
			fmt.Fprintf(out, "denied by the rule of deciders %s\n", rule.Capability)
			return errReported
		case d.Allowed:
			fmt.Fprintf(out, "allowed by %s\n", d.By)
			return nil
		case d.By != nil:
			fmt.Fprintf(out, "denied by %s\n", d.By)
			return errReported
		}
		if e.Kind == protocol.KindMCPRequest && len(e.Correlation.IDs) == 0 {
			rights.Participants[from] = authority.ParticipantConfig{Root: rights.Participants[from].Root, Capabilities: held}
			verdict, by := rights.Ask(authority.NewState(&rights).Ledger.Effective(from, time.Now()), request)
			if verdict == authority.Allowed {
				fmt.Fprintf(out, "allowed by the rule of deciders %s\n", by)
				return nil
			}
		}
		fmt.Fprintf(out, "denied: none of %d capabilities selects it\n", len(held))
		return errReported
	}
	return c
}

func pickSpace(cfg *config.Config, name string) (*config.Space, error) {
	if name == "" && len(cfg.Spaces) == 1 {
		return &cfg.Spaces[0], nil
	}
	if name == "" {
		return nil, program.Usagef("--space is required: the configuration has several spaces")
	}
	s, ok := cfg.Space(name)
	if !ok {
		return nil, fmt.Errorf("the configuration has no space %q", name)
	}
	return s, nil
}

func readEnvelope(f explainFlags, in io.Reader) (*protocol.Inbound, error) {
	d, ok := protocol.ParseDialect(f.dialect)
	if !ok {
		return nil, program.Usagef("unknown dialect %q; use one of %v", f.dialect, protocol.DialectNames())
	}
	var frame []byte
	var err error
	if f.envelope == "-" {
		frame, err = io.ReadAll(in)
	} else {
		frame, err = os.ReadFile(f.envelope)
	}
	if err != nil {
		return nil, fmt.Errorf("read the envelope: %w", err)
	}
	inbound, err := protocol.Decode(frame, d, protocol.DefaultContextDepth)
	if err == nil {
		err = schemas.Payload(inbound.Envelope.Kind, inbound.Payload)
	}
	if err != nil {
		return nil, fmt.Errorf("the envelope would be rejected before its capabilities are checked: %w", err)
	}
	return inbound, nil
}

// explainDeciders prints what the deciders say about a call or a proposal, and returns the rule
// that decides on it; nil: none.
func explainDeciders(out io.Writer, c *authority.Config, request *capability.Request) *authority.Rule {
	call := *request
	switch request.Kind {
	case protocol.KindMCPProposal:
		call.Kind, call.To = protocol.KindMCPRequest, authority.HostOf(request.Payload)
	case protocol.KindMCPRequest:
	default:
		return nil
	}
	if by := c.Deciders.HumanOnlyBy(&call); by != nil {
		fmt.Fprintf(out, "human_only %s may match it: only people decide on a proposal of it\n", by)
		return nil
	}
	rule := c.Deciders.Rule(&call)
	switch {
	case rule == nil:
	case rule.Capability.Deny() && rule.Reason != "":
		fmt.Fprintf(out, "the rule of deciders %s rejects a proposal of it: %s\n", rule.Capability, rule.Reason)
	case rule.Capability.Deny():
		fmt.Fprintf(out, "the rule of deciders %s rejects a proposal of it\n", rule.Capability)
	default:
		fmt.Fprintf(out, "the rule of deciders %s allows it to those that may propose it\n", rule.Capability)
	}
	return rule
}
