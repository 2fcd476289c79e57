package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/internal/testing/webtest"
	"github.com/meup-protocol/meup/protocol"
)

const pageConfig = `
limits: {rate: 1000000, burst: 1000000}
spaces:
  lab:
    participants:
      alice: {token: alice-token-for-tests, capabilities: ["*"]}
      bob: {token: bob-token-for-tests, capabilities: [chat, "chat.*", "reasoning/*", mcp.request, mcp.reject]}
      guide:
        token: guide-token-for-tests
        capabilities:
          - chat
          - reasoning/*
          - stream/*
          - mcp.response
          - mcp.proposal
          - mcp.withdraw
          - participant.status
          - {kind: mcp.request, payload: {method: tools/call, params: {name: ["list_*", "search_*"]}}}
      scout: {token: scout-token-for-tests, capabilities: [chat, "reasoning/*", "stream/*", "mcp/*", participant.status]}
      lead: {token: lead-token-for-tests, capabilities: [chat, capability.grant]}
      watcher: {token: watcher-token-for-tests, capabilities: []}
      slow: {token: slow-token-for-tests, capabilities: [chat], limits: {rate: 0.2, burst: 1}}
      rich: {token: rich-token-for-tests, capabilities: [chat, mcp.request, {kind: chat, payload: {message: "forbidden*"}, deny: true}]}
      rover: {token: rover-token-for-tests, capabilities: [chat]}
  den:
    participants:
      rover: {token: rover-token-for-tests, capabilities: [chat]}
`

// TestPage opens the page of a real gateway in a real browser, one for all.
func TestPage(t *testing.T) {
	t.Parallel()
	browser := webtest.StartBrowser(t)
	for _, test := range []struct {
		name string
		run  func(*pageStage)
	}{
		{"a block of the agent, live and after a reload", pageBlocksLive},
		{"how blocks end", pageBlocksEnd},
		{"an answer that grows ends the thinking", pageGrowingAnswer},
		{"an agent that comes back", pageComesBack},
		{"a person stops an agent", pageStop},
		{"a block in which nobody reasons yet", pageIdleBlock},
		{"two agents at once", pageTwoAgents},
		{"Markdown in thoughts", pageThoughtMarkdown},
		{"a person's choice wins", pageToggles},
		{"the end of the talk", pageFollows},
		{"the preference is kept", pagePreference},
		{"proposals are decided", pageProposals},
		{"an approval that lasts", pageScopes},
		{"what became of proposals", pageFates},
		{"a decision counts before the tool answers", pageDecisionCounts},
		{"a reviewer is promoted, and put back into shadow", pageReviewers},
		{"a reviewer's approval that one may not see", pageUnseenApproval},
		{"a budget is extended", pageBudgets},
		{"a claim is released", pageClaims},
		{"filters", pageFilters},
		{"search", pageSearch},
		{"an envelope as it was sent", pageRaw},
		{"links", pageLinks},
		{"the time line", pageTimeline},
		{"who may only look", pageObserver},
		{"rights are given and taken back", pageGrants},
		{"rights that one cannot give", pageCannotGive},
		{"removed and invited", pageKickAndInvite},
		{"the composer", pageComposer},
		{"a message that is refused", pageRefused},
		{"messages that come too fast", pageTooFast},
		{"the gateway is killed", pageReconnect},
		{"signing in and out", pageSignIn},
		{"two tabs", pageTabs},
		{"from one space to another", pageOtherSpace},
		{"a link with a code", pageCode},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(openPageStage(t, browser))
		})
	}
}

// pageStage is a gateway with its viewers and participants.
type pageStage struct {
	*testing.T
	ctx     context.Context
	browser *webtest.Browser
	g       *gatewayProc
	docs    string
}

func openPageStage(t *testing.T, browser *webtest.Browser) *pageStage {
	t.Helper()
	ctx := testkit.Deadline(t)
	return &pageStage{T: t, ctx: ctx, browser: browser, g: startGateway(t, pageConfig)}
}

// webPage is a browser profile with the gateway's page.
type webPage struct {
	*webtest.Tab
	t *testing.T
	s *pageStage
}

// newPage opens a page in a new browser profile.
func (s *pageStage) newPage() *webPage {
	s.Helper()
	return s.pageIn(s.browser.Private(s.T))
}

// pageIn is a page in a tab.
func (s *pageStage) pageIn(tab *webtest.Tab) *webPage {
	s.Helper()
	p := &webPage{Tab: tab, t: s.T, s: s}
	s.Cleanup(p.Clean)
	p.Expect("the server responded with a status of 401 (Unauthorized) http://" + s.g.addr + "/api/session") // no user is signed in
	p.Do(chromedp.EmulateViewport(1280, 900))
	p.before(eyes)
	return p
}

// before runs a script in every document before the page's own.
func (p *webPage) before(script string) {
	p.Do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: script})
		return err
	}))
}

func (s *pageStage) address() string { return "http://" + s.g.addr + "/" }

// visit opens the page and signs a participant in.
func (s *pageStage) visit(who string) *webPage {
	s.Helper()
	p := s.newPage()
	p.Open(s.address())
	p.signIn(who)
	return p
}

func (p *webPage) signIn(who string) {
	p.t.Helper()
	p.fill(at("textbox", "Token"), who+"-token-for-tests")
	p.click(at("button", "Sign in"))
	p.live()
}

// live waits until the page has received the whole log.
func (p *webPage) live() {
	p.t.Helper()
	p.until("live", `/\bLive\b/.test(eyes.page())`)
}

func (p *webPage) reload() {
	p.t.Helper()
	p.Do(chromedp.Reload())
	p.live()
}

// room is the conversation.
var room = at("log", "*")

// messageWith is a message that contains words.
func messageWith(words ...string) spot { return withText("article", like(words...)).in(room) }

// ownMessage is a message of the signed-in participant that is in the log.
func ownMessage(text string) spot {
	m := messageWith(text)
	m.name = "You, *"
	return m
}

// composer is the field for messages.
var composer = at("textbox", "Message to lab")

// post writes a message and sends it.
func (p *webPage) post(text string) {
	p.t.Helper()
	p.fill(composer, text)
	p.enter()
	p.value(composer, "")
	p.sees(ownMessage(text))
}

// guest is a participant that the test controls completely.
type guest struct {
	*client.Client
	s *pageStage
}

func (s *pageStage) join(who string) *guest {
	s.Helper()
	return &guest{s.g.dial(s.T, who, client.After(0)), s}
}

// send sends an envelope to the space and returns its id.
func (g *guest) send(env protocol.Envelope) protocol.ID {
	g.s.Helper()
	receipt, err := g.Send(g.s.ctx, env)
	if err != nil {
		g.s.Fatalf("send %s: %v", env.Kind, err)
	}
	return receipt.ID
}

func (g *guest) say(text string) protocol.ID {
	g.s.Helper()
	return g.send(client.Chat(text))
}

// answer sends a chat that answers an envelope.
func (g *guest) answer(to protocol.ID, text string) protocol.ID {
	g.s.Helper()
	env := client.Chat(text)
	env.Correlation = protocol.CorrelateTo(to)
	return g.send(env)
}

// fields is a payload.
type fields map[string]any

// publish sends an envelope of a kind within a context, correlated to another one.
func (g *guest) publish(kind protocol.Kind, context protocol.ContextPath, about protocol.ID, payload fields) protocol.ID {
	g.s.Helper()
	raw, err := json.Marshal(payload)
	if err != nil {
		g.s.Fatal(err)
	}
	env := protocol.Envelope{Kind: kind, Context: context, Payload: raw}
	if about != "" {
		env.Correlation = protocol.CorrelateTo(about)
	}
	return g.send(env)
}

// reason opens a context about a question.
func (g *guest) reason(about protocol.ID, words string) protocol.ContextPath {
	g.s.Helper()
	return protocol.ContextPath(g.publish(protocol.KindReasoningStart, "", about, fields{"message": words}))
}

// think adds a thought.
func (g *guest) think(in protocol.ContextPath, words string) protocol.ID {
	g.s.Helper()
	return g.publish(protocol.KindReasoningThought, in, "", fields{"message": words})
}

// conclude closes a context.
func (g *guest) conclude(in protocol.ContextPath, words string) {
	g.s.Helper()
	g.publish(protocol.KindReasoningConclusion, in, "", fields{"message": words})
}

// await receives up to the first envelope that matches.
func (g *guest) await(what string, fits func(*protocol.Envelope) bool) *protocol.Envelope {
	g.s.Helper()
	for {
		env, err := g.Receive(g.s.ctx)
		if err != nil {
			g.s.Fatalf("waiting for %s: %v", what, err)
		}
		if fits(&env) {
			return &env
		}
	}
}

// agent starts the real agent, which reads a folder of documents.
func (s *pageStage) agent(who string, more ...string) *process {
	s.Helper()
	if s.docs == "" {
		s.docs = s.TempDir()
		for name, text := range map[string]string{
			"networking.md": "# Networking\n\nThe gateway listens on port 8080.\n",
			"storage.md":    "# Storage\n\nThe log is kept for 30 days.\n",
		} {
			if err := os.WriteFile(filepath.Join(s.docs, name), []byte(text), 0o600); err != nil {
				s.Fatal(err)
			}
		}
	}
	args := append([]string{"run", "--gateway", "ws://" + s.g.addr + "/ws", "--space", "lab", "--token-env", "AGENT", "--docs", s.docs}, more...)
	p := start(s.T, []string{"AGENT=" + who + "-token-for-tests"}, filepath.Join(bin, "meup-agent"), args...)
	eventually(s.T, "the agent is ready", func() bool { return strings.Contains(p.log.String(), "agent ready") })
	return p
}
