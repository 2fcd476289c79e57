package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/planner"
)

// The questions of the scene: ben's, the part that scout takes, and the part
// that planner reasons about in a nested context.
const (
	question      = "@planner Can we announce version 2.4 today? Please check the notes, and let scout look at the error rates."
	scoutQuestion = "Has the error rate of a region changed since version 2.4 was installed there?"
	limitQuestion = "What happens to a client that sends faster than the new limits?"
)

const announcement = "Version 2.4 is here: limits per kind of message, search inside results, and spaces that open in 4 ms."

// script has the decisions about a question, by the question. A decision gets
// the finished steps of the question.
type script map[string][]func(steps []contextwindow.Record) planner.Decision

// actor decides by a script, at human pace. It leaves questions without a
// script to another decider.
type actor struct {
	script    script
	pace      time.Duration // per word
	otherwise planner.Decider
}

// Next returns the next decision of the script.
func (a *actor) Next(ctx context.Context, s planner.State) (planner.Decision, error) {
	lines := a.script[s.Question]
	var steps []contextwindow.Record
	for _, step := range s.Steps {
		if step.Action == contextwindow.UseTools { // the others are remarks of participants
			steps = append(steps, step)
		}
	}
	if len(steps) >= len(lines) {
		return a.otherwise.Next(ctx, s)
	}
	if err := wait(ctx, 12*a.pace); err != nil {
		return planner.Decision{}, err
	}
	d := lines[len(steps)](steps)
	for _, c := range d.Calls {
		if s.Tool(c.Tool) == nil && !planner.IsBuiltin(c.Tool) { // the participant with the tools has left
			return a.otherwise.Next(ctx, s)
		}
	}
	if d.Action == contextwindow.Finish {
		return d, a.write(ctx, s.Watch, d.Answer, a.pace/4)
	}
	return d, a.write(ctx, s.Watch, d.Thought, a.pace)
}

// write streams a text word by word.
func (a *actor) write(ctx context.Context, watch func(llm.Delta), text string, pace time.Duration) error {
	for _, word := range strings.SplitAfter(text, " ") {
		if watch != nil && pace > 0 {
			watch(llm.Delta{Kind: llm.TextDelta, Text: word})
		}
		if err := wait(ctx, pace); err != nil {
			return err
		}
	}
	return nil
}

func call(tool, reason string, arguments map[string]string) contextwindow.Call {
	return contextwindow.Call{Tool: tool, Reason: reason, Arguments: llm.Marshal(arguments)}
}

func act(thought string, calls ...contextwindow.Call) planner.Decision {
	return planner.Decision{Action: contextwindow.UseTools, Thought: thought, Calls: calls, Source: planner.ByRules}
}

func finish(answer, conclusion string, confidence float64) planner.Decision {
	return planner.Decision{Action: contextwindow.Finish, Answer: answer, Conclusion: conclusion, Confidence: confidence, Source: planner.ByRules}
}

func plannerLines() script {
	return script{
		question: {
			func([]contextwindow.Record) planner.Decision {
				return act("Three things decide this: the checklist, what has changed, and how the new version behaves. I look at all of them at the same time.",
					call("read_note", "The checklist lists what is still open.", map[string]string{"name": "checklist.md"}),
					call("read_note", "The announcement must agree with the changelog.", map[string]string{"name": "changelog.md"}),
					call(planner.Delegate, "Scout knows the metrics, and I do not have to wait for it.", map[string]string{
						"participant": string(Scout), "question": scoutQuestion, "approach": "compare before and after", "estimated_duration": "10s",
					}))
			},
			func(steps []contextwindow.Record) planner.Decision {
				return act(fmt.Sprintf("The checklist has %s. The changelog names new limits, and readers will ask about them first. I settle that before I write.", openPoints(steps[0].Results[0])),
					call(planner.Subproblem, "The announcement may have to answer this.", map[string]string{"question": limitQuestion}))
			},
			func(steps []contextwindow.Record) planner.Decision {
				confidence := 0.9
				d := act("Reading is all that I may do here. I propose the announcement, and you decide.",
					call("publish_announcement", "Publishing cannot be undone, so it needs your approval.", map[string]string{"version": "2.4", "text": announcement}))
				d.Notes = []planner.Note{{
					Kind: planner.Hypothesis, Text: "Version 2.4 can be announced today.", Confidence: &confidence,
					For:     []string{"only the announcement is open", finding(steps[0].Results[2])},
					Against: []string{"one day of traffic so far"},
				}}
				return d
			},
			func(steps []contextwindow.Record) planner.Decision {
				published := steps[2].Results[0]
				if !published.OK() || published.Error != "" {
					return finish("Version 2.4 is **not announced**: the proposal was "+outcome(published)+"\n\n"+whatNext, "Not announced: "+outcome(published), 0)
				}
				return act("You approved it, and the tool has published it. I read it back to be sure.",
					call("read_note", "What counts is the text that was published.", map[string]string{"name": strings.TrimSpace(published.Text)}))
			},
			func(steps []contextwindow.Record) planner.Decision {
				checked, published, text := steps[0].Results, steps[2].Results[0], steps[3].Results[0]
				answer := fmt.Sprintf("**Version 2.4 is announced**, in %s:\n\n> %s\n\n| checked | result |\n|---|---|\n| checklist | %s |\n| error rates | %s |\n| limits | clients keep their connection |\n\n%s",
					"`"+strings.TrimSpace(published.Text)+"`", strings.TrimSpace(outcome(text)), openPoints(checked[0]), finding(checked[2]), whatNext)
				return finish(answer, "Version 2.4 is announced, as you approved it.", 0.95)
			},
		},
		limitQuestion: {
			func([]contextwindow.Record) planner.Decision {
				return act("The changelog refers to limits.md.", call("read_note", "It describes the limits.", map[string]string{"name": "limits.md"}))
			},
			func(steps []contextwindow.Record) planner.Decision {
				if !steps[0].Results[0].OK() {
					return finish("I do not know: "+outcome(steps[0].Results[0]), "The limits are not described.", 0.2)
				}
				return finish("It is told how long to wait, and keeps its connection. That needs no line in the announcement.",
					"Clients keep their connection; no line is needed.", 0.95)
			},
		},
	}
}

// whatNext ends the scene.
const whatNext = "Now it is your turn: ask *what is in the docs folder?*, for example, or write *play the scene again*."

func scoutLines() script {
	return script{scoutQuestion: {
		func([]contextwindow.Record) planner.Decision {
			return act("Version 2.4 runs in two regions. I compare both, a day before and a day after.",
				call("error_rates", "The larger region shows a change first.", map[string]string{"region": "eu-north"}),
				call("error_rates", "The smaller region has older clients.", map[string]string{"region": "ap-south"}))
		},
		func(steps []contextwindow.Record) planner.Decision {
			eu, ap := steps[0].Results[0], steps[0].Results[1]
			return finish(fmt.Sprintf("Hardly changed: %s; %s", outcome(eu), outcome(ap)), "The error rates have hardly changed.", 0.9)
		},
	}}
}

// outcome returns the text of a result, or why there is none.
func outcome(r contextwindow.Result) string {
	if r.Error != "" {
		return r.Error
	}
	return r.Text
}

// finding returns the conclusion of another agent without the words around it.
func finding(r contextwindow.Result) string {
	text := outcome(r)
	if _, after, found := strings.Cut(text, "concluded:\n"); found {
		text = after
	}
	text, _, _ = strings.Cut(text, "\n")
	return text
}

// openPoints counts the points of a checklist that are not done.
func openPoints(r contextwindow.Result) string {
	if !r.OK() {
		return "not been read: " + outcome(r)
	}
	switch n := strings.Count(r.Text, "- [ ]"); n {
	case 0:
		return "no open point"
	case 1:
		return "one open point, the announcement itself"
	default:
		return fmt.Sprintf("%d open points", n)
	}
}
