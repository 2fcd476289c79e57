package redact

import "testing"

func TestMask(t *testing.T) {
	leaks, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	const token = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
	for text, want := range map[string]string{
		"":                                 "",
		"no such file":                     "no such file",
		"bad token " + token + ", sorry":   "bad token [redacted:github-pat], sorry",
		token + " " + token:                "[redacted:github-pat] [redacted:github-pat]",
		"already [redacted:github-pat] so": "already [redacted:github-pat] so",
	} {
		if got := leaks.Mask(text); got != want {
			t.Errorf("%q is masked as %q, want %q", text, got, want)
		}
	}
}
