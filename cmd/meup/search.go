package main

import (
	"bufio"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/terminal/block"
	"github.com/meup-protocol/meup/internal/terminal/connect"
	"github.com/meup-protocol/meup/protocol"
)

// searchFlags are the flags of search.
type searchFlags struct {
	from, kinds, contexts []string
	main                  bool
	match, since, until   string
	limit                 int
	json                  bool
}

func newSearch(a *app) *cobra.Command {
	f := new(searchFlags)
	c := &cobra.Command{
		Use:   "search QUERY",
		Short: "Finds messages, reasoning, calls and results by their text",
		Long: `search prints the envelopes that a query selects, the best first: those that have
all words of the query, anywhere in their text. Case and accents do not matter.

  "two words"   the words one after the other
  inv*          a word with this beginning
  -word         not this word

--match any prints the envelopes that have any of the words, those with more and
rarer ones first. --match auto does so only if no envelope has all words.

Of each hit it prints the seq, the time, the sender, the kind, the context, and the
text around the matches. If the index lacks the newest envelopes, a note on
standard error says so.

With --json, each line is a hit as the gateway sends it.

Exit codes: those of meup; 0 also if nothing is found.`,
		Example: `  meup search invoice march
  meup search '"rolled back" -draft' --from planner --since 24h
  meup search 'deploy*' --kind 'reasoning/*' --json | jq -r .id`,
		Args: cobra.ArbitraryArgs,
	}
	fl := c.Flags()
	fl.StringSliceVar(&f.from, "from", nil, "only envelopes of these participants")
	fl.StringSliceVar(&f.kinds, "kind", nil, "only these kinds, such as chat,reasoning/*")
	fl.StringSliceVar(&f.contexts, "context", nil, "only this context and its children; may be repeated")
	fl.BoolVar(&f.main, "main", false, "only the main conversation")
	fl.StringVar(&f.match, "match", api.MatchAll, "all: all words; any: any of them; auto: all, or any if no envelope has all")
	fl.StringVar(&f.since, "since", "", "only envelopes from then on: a day, a time (RFC 3339), or a duration before now")
	fl.StringVar(&f.until, "until", "", "only envelopes before then")
	fl.IntVar(&f.limit, "limit", 20, "maximum number of hits; 0: all")
	fl.BoolVar(&f.json, "json", false, "print one JSON object per hit")
	fl.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "kinds" { // as other commands name it
			name = "kind"
		}
		return pflag.NormalizedName(name)
	})
	c.RunE = connect.RunE(func(c *cobra.Command, args []string) error {
		text := strings.Join(args, " ")
		q, err := f.query(text)
		if err != nil {
			return err
		}
		style, t, err := a.target(c)
		if err != nil {
			return err
		}
		out := bufio.NewWriter(c.OutOrStdout())
		for found := 0; ; {
			q.Limit = 100
			if f.limit > 0 {
				q.Limit = min(q.Limit, f.limit-found)
			}
			page, err := t.API.Search(c.Context(), t.Space, q)
			if err != nil {
				return err
			}
			for i := range page.Hits {
				if !f.json {
					fmt.Fprintf(out, "%d  %s\n", page.Hits[i].Seq, block.Hit(&page.Hits[i], time.Local, style))
				} else if err := newEncoder(out).Encode(&page.Hits[i]); err != nil {
					return err
				}
			}
			if found == 0 && page.Match == api.MatchAny && f.match == api.MatchAuto && len(page.Hits) > 0 {
				connect.Warn(c.ErrOrStderr(), "no envelope has all words; these have some of them")
			}
			found += len(page.Hits)
			if page.HasMore && (f.limit == 0 || found < f.limit) {
				q.Cursor = page.Next
				continue
			}
			if note := block.SearchNote(page, text, found); note != "" {
				connect.Warn(c.ErrOrStderr(), "%s", note)
			}
			return out.Flush()
		}
	})
	return c
}

func (f *searchFlags) query(text string) (q api.SearchQuery, err error) {
	q = api.SearchQuery{Text: text, Match: f.match, Kinds: f.kinds, Contexts: f.contexts}
	switch {
	case strings.TrimSpace(text) == "":
		return q, program.Usagef("expected a QUERY")
	case f.match != api.MatchAll && f.match != api.MatchAny && f.match != api.MatchAuto:
		return q, program.Usagef("--match %q: expected all, any or auto", f.match)
	case f.limit < 0:
		return q, program.Usagef("--limit must not be negative")
	}
	if f.main {
		q.Contexts = append(q.Contexts, "")
	}
	for _, id := range f.from {
		q.From = append(q.From, protocol.ParticipantID(id))
	}
	q.Since, err = program.Moment("since", f.since, time.Now())
	if err == nil {
		q.Until, err = program.Moment("until", f.until, time.Now())
	}
	return q, err
}
