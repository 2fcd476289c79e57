package textutil

import "testing"

func TestLeadingMention(t *testing.T) {
	for text, want := range map[string]string{
		"@bot hello": "bot", " @bot: hello": "bot", "@Bot.2, hello": "Bot.2", "@bot": "bot", "@bot's turn": "bot", "@bot\nhello": "bot",
		"@bot+ @ben": "bot", "@bot-": "bot", "@a@b.example hello": "a@b.example", "@a|b": "a|b", "@_ hello": "_",
		"@jürgen, hello": "jürgen", "@ju\u0308rgen, hello": "ju\u0308rgen", "@プランナー、こんにちは": "プランナー", "@é": "é",
		"hello @bot": "", "": "", "@": "", "@ bot": "", "@@": "", "@...": "", "@types/node is old": "", "@é/x": "", `@a\b`: "", "@\xff": "",
	} {
		t.Run(text, func(t *testing.T) {
			if got := LeadingMention(text); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

func TestMentions(t *testing.T) {
	for text, want := range map[string]bool{
		"@planner":                       true,
		"well, @Planner.":                true,
		"@planner: what is this?":        true,
		"cc:@planner":                    true,
		"ask @planner... or not":         true,
		"(@planner)":                     true,
		"@planner.\nAnd then":            true,
		"@planner+@critic":               true,
		"@planner|":                      true,
		"planner":                        false,
		"":                               false,
		"@planner2":                      false,
		"@plannér":                       false,
		"@planner.2 what do you think?":  false,
		"@planner:eu what do you think?": false,
		"@planner+b, @planner|b":         false,
		"@planner.-x":                    false,
		"@planner-2":                     false,
		"planner@planner.org":            false,
		"@planner.2 and @planner, well?": true,
	} {
		t.Run(text, func(t *testing.T) {
			if got := Mentions(text, "Planner"); got != want {
				t.Errorf("mentioned: %t, want %t", got, want)
			}
		})
	}
}
