package mcpserver

import (
	"context"
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/protocol"
)

// URIs of the resources.
const (
	threadsURI   = "meup://space/threads/"
	contextsURI  = "meup://space/contexts"
	proposalsURI = "meup://space/proposals"
)

// Bounds of a resource.
const (
	maxResource  = 256 << 10 // bytes
	maxProposals = 20
	maxContexts  = 256
)

// resource returns the handler of a resource.
func resource(mime string, read func(c *caller, ctx context.Context, uri string) (string, error)) mcp.ResourceHandler {
	return func(ctx context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		text, err := read(callerOf(ctx), ctx, r.Params.URI)
		if errors.Is(err, &protocol.Error{Code: protocol.CodeNotFound}) {
			return nil, mcp.ResourceNotFoundError(r.Params.URI)
		}
		if err != nil {
			return nil, err
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, MIMEType: mime, Text: text}}}, nil
	}
}

func (c *caller) thread(ctx context.Context, uri string) (string, error) {
	id := strings.TrimPrefix(uri, threadsURI)
	if !protocol.ValidID(id) {
		return "", protocol.Errorf(protocol.CodeNotFound, "Not the id of a thread.")
	}
	text, err := c.client.Transcript(ctx, c.space, protocol.ID(id))
	if err != nil {
		return "", err
	}
	cut, omitted := bounded(string(text), maxResource)
	if omitted > 0 {
		cut += "\n\n…"
	}
	return notice + "\n\n" + cut, nil
}

type openContext struct {
	Path    string `json:"path"`
	Opener  string `json:"opener"`
	Trust   string `json:"trust"`
	Message string `json:"message,omitempty"`
}

func (c *caller) openContexts(ctx context.Context, _ string) (string, error) {
	all, err := c.client.Contexts(ctx, c.space, "")
	if err != nil {
		return "", err
	}
	list := []openContext{}
	var add func([]api.Context)
	add = func(tree []api.Context) {
		for i := range tree {
			n := &tree[i]
			if n.State == api.ContextReasoning && len(list) < maxContexts {
				text, _ := bounded(n.Message, maxQuestion)
				list = append(list, openContext{string(n.Path), string(n.Opener), c.trust(n.Opener), text})
			}
			add(n.Children)
		}
	}
	add(all)
	return string(encodeJSON(map[string]any{"note": notice, "contexts": list})), nil
}

// proposed is a pending proposal.
type proposed struct {
	message
	MayDecide bool `json:"may_decide"`
}

func (c *caller) pendingProposals(ctx context.Context, _ string) (string, error) {
	page, err := c.client.Proposals(ctx, c.space, "", maxProposals, 0)
	if err != nil {
		return "", err
	}
	list, size := []proposed{}, 0
	for i := range page.Proposals {
		p := proposed{c.message(&page.Proposals[i].Envelope.Envelope), page.Proposals[i].MayDecide}
		size += len(p.Text)
		if size > maxTexts && i > 0 {
			page.HasMore = true
			break
		}
		list = append(list, p)
	}
	return string(encodeJSON(map[string]any{"note": notice, "proposals": list, "has_more": page.HasMore})), nil
}

// prompts are the texts of the prompts.
var prompts = []struct{ name, description, text string }{
	{"catch_up", "Summarizes what happened in the space", `Use "who" and "read" to find out what happened in this space. Summarize for me who is there, what was decided, which questions and proposals are open, and what concerns me. Name the sender of each statement. Send nothing.`},
	{"review", "Reviews the newest conclusion or proposal of the others", `Read the newest conclusions and pending proposals in this space with "read". Check the most important one: its evidence, its arguments and its risks. Publish your reasoning with "think" and your judgment with "say", as a reply. Decide about no proposal without asking me.`},
	{"debate", "Debates a question with the other participants", `Ask me for the question. Publish your position with "say", then "wait" for the others, answer their strongest argument, and revise your position if it convinces you. Stop after five rounds, and summarize for me on what the participants agree.`},
}
