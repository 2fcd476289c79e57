package admission

import (
	"context"

	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/schemas"
)

// checkToolSchema checks the arguments of a call, or of a proposed one, with the input schema of
// the tool, if it is known, and charges the work to the sender.
func (b *batch) checkToolSchema(ctx context.Context, p *candidate) error {
	if b.calledTool(p) == nil {
		return nil
	}
	limiter := b.from.Buckets.Get()
	if err := limiter.Work(b.now); err != nil {
		return err
	}
	return b.current(ctx, func() error {
		tool := b.calledTool(p) // the host may have other tools by now
		if tool == nil {
			return nil
		}
		work, refused := tool.Check(p.In.Payload.Get("params").Get("arguments"))
		limiter.Worked(b.now, work)
		return refused
	})
}

// calledTool returns the schema of the tool that an envelope calls, or proposes to call; nil: it calls none, or
// one that is not known. What a participant sends about its own tools is a record.
func (b *batch) calledTool(p *candidate) *schemas.Tool {
	payload := p.In.Payload
	host := authority.OnlyHost(&p.draft.Envelope, payload)
	if host == "" || host == b.from.ID || !authority.IsToolCall(payload) {
		return nil
	}
	return b.space.Tools.Find(host, payload.Get("params").Get("name").Text())
}
