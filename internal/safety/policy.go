package safety

// Policy is the stage that holds a text against the operator's policy: rules
// with a severity, and an action for each severity.
type Policy struct{ *matcher }

// DefaultPolicy returns what is done about a severity where nothing is
// configured.
func DefaultPolicy() map[string]Action {
	return map[string]Action{"low": ActionWarn, "medium": ActionSanitise, "high": ActionReview, "critical": ActionBlock}
}

// Name returns "policy".
func (p Policy) Name() string { return "policy" }

// Inspect appends what the policy objects to.
func (p Policy) Inspect(dst []Finding, t Text) []Finding { return inspectBoth(dst, t, p) }

func (p Policy) inspect(dst []Finding, t Text) []Finding {
	s := p.borrow()
	defer p.scratch.Put(s)
	p.search(s, t.Body)
	return p.resolve(dst, s.found, 0, len(t.Body))
}
