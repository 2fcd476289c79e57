package connect

import "testing"

func TestParseConfig_TextsAsWritten(t *testing.T) {
	for _, token := range []string{"0123456701234567", "007", "0x1F", "1_000", "1.50", "+5", "0b11", ".inf", "true", "plain", "'quoted #1'", `"a\tb"`} {
		t.Run(token, func(t *testing.T) {
			c, err := parseConfig("config.yaml", []byte("profile: 007\nprofiles:\n  007:\n    space: 0o17 # a comment\n    token: "+token+"\n"))
			if err != nil {
				t.Fatal(err)
			}
			want := token
			switch token {
			case "'quoted #1'":
				want = "quoted #1"
			case `"a\tb"`:
				want = "a\tb"
			}
			p := c.Profiles["007"]
			if p == nil || string(p.Token) != want || p.Space != "0o17" || c.Profile != "007" {
				t.Errorf("%+v, profile %q", p, c.Profile)
			}
		})
	}
}

func TestParseConfig_WrongTypes(t *testing.T) {
	for name, source := range map[string]string{
		"list":    "profiles:\n  a: {token: [x]}\n",
		"mapping": "profiles:\n  a: {token: {x: y}}\n",
		"default": "profile: [a]\n",
	} {
		t.Run(name, func(t *testing.T) {
			if c, err := parseConfig("config.yaml", []byte(source)); err == nil {
				t.Errorf("%+v", c)
			} else {
				t.Log(err)
			}
		})
	}
}
