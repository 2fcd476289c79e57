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
		// The keys of AWS's own documentation are what people try first.
		"key AKIAIOSFODNN7EXAMPLE":                                       "key [redacted:aws-access-token]",
		"AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY": "AWS_SECRET_ACCESS_KEY=[redacted:aws-secret-access-key]",
	} {
		if got := leaks.Mask(text); got != want {
			t.Errorf("%q is masked as %q, want %q", text, got, want)
		}
	}
}
