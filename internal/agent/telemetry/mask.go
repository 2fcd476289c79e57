package telemetry

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/internal/safety/redact"
)

const (
	// minSecret is the length of the shortest secret that is masked.
	minSecret = 6
	// maxText bounds a text after masking, in bytes.
	maxText = 4 << 10

	redactedSecret = "[redacted:secret]"
)

// newMasker returns a function that masks known secrets first, then texts that
// look like secrets. The result is valid UTF-8 and bounded.
func newMasker(secrets []string) (func(string) string, error) {
	rules, err := redact.Default()
	if err != nil {
		return nil, fmt.Errorf("mask secrets: %w", err)
	}
	mask := rules.Mask
	secrets = slices.Clone(secrets)
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Compare(len(b), len(a)) }) // one may be a prefix of another
	var pairs []string
	for _, s := range secrets {
		if len(s) >= minSecret {
			pairs = append(pairs, s, redactedSecret)
		}
	}
	known := strings.NewReplacer(pairs...)
	return func(text string) string {
		if text == "" {
			return ""
		}
		text = mask(known.Replace(strings.ToValidUTF8(text, "\uFFFD")))
		return textutil.Truncate(maskParts(text, mask), maxText)
	}, nil
}

// maxName bounds the texts that maskParts checks, in bytes.
const maxName = 256

// maskParts masks secrets that begin after an underscore. The rules match a
// secret only at the beginning of a word, and in the name of a tool, such as
// server_tool, each part is one.
func maskParts(text string, mask func(string) string) string {
	if len(text) > maxName {
		return text
	}
	for i := range len(text) {
		if text[i] != '_' {
			continue
		}
		part := text[i+1:]
		if masked := mask(part); masked != part {
			return text[:i+1] + masked
		}
	}
	return text
}

// maskedAttributes returns a copy with masked keys and values.
func maskedAttributes(list []attribute.KeyValue, mask func(string) string) []attribute.KeyValue {
	if len(list) == 0 {
		return nil
	}
	masked := make([]attribute.KeyValue, len(list))
	for i, kv := range list {
		value := kv.Value
		switch value.Type() {
		case attribute.STRING:
			value = attribute.StringValue(mask(value.AsString()))
		case attribute.STRINGSLICE:
			texts := value.AsStringSlice()
			for j := range texts {
				texts[j] = mask(texts[j])
			}
			value = attribute.StringSliceValue(texts)
		case attribute.BOOL, attribute.INT64, attribute.FLOAT64,
			attribute.BOOLSLICE, attribute.INT64SLICE, attribute.FLOAT64SLICE:
		default: // an unknown type, which may contain text
			value = attribute.StringValue(mask(value.String()))
		}
		masked[i] = attribute.KeyValue{Key: attribute.Key(mask(string(kv.Key))), Value: value}
	}
	return masked
}
