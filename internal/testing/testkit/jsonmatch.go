package testkit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// JSONVars compares JSON values with expected ones that may contain placeholders, and has the
// captured values, by name. The conversations of internal/testing/meuptest and the vectors of
// the conformance suite use it.
//
// An expected object must be part of the received one; an expected array must
// have the same length. The string "$name" captures the value in its place;
// later it means the captured value, also inside other strings, as ${name}.
// "$absent" requires that the member is absent, "$any" that it is present.
// "$now" is a ts of this minute, "$uuid7" an id of that form, and "$above:name"
// a number above the captured one.
type JSONVars map[string]any

// Fill replaces ${name} by captured values.
func (v JSONVars) Fill(s string) string {
	return os.Expand(s, func(name string) string {
		if value, ok := v[name]; ok {
			return fmt.Sprint(value)
		}
		return "$" + name
	})
}

// CompareAll compares the JSON values in got to the expected ones, in order.
func (v JSONVars) CompareAll(expected, got string) error {
	want, err := values(expected)
	if err != nil {
		return fmt.Errorf("expected value: %w", err)
	}
	have, err := values(got)
	if err != nil {
		return fmt.Errorf("%q is not JSON: %w", got, err)
	}
	if len(want) != len(have) {
		return fmt.Errorf("want %d values, got %d", len(want), len(have))
	}
	for i := range want {
		if err := v.Match(want[i], have[i]); err != nil {
			return err
		}
	}
	return nil
}

// Match compares a whole value with an expected one. Without a match it captures
// nothing: the next value may be the expected one.
func (v JSONVars) Match(want, got any) error {
	known := maps.Clone(v)
	err := v.match("", want, got)
	if err != nil {
		clear(v)
		maps.Copy(v, known)
	}
	return err
}

// values decodes a sequence of JSON values.
func values(text string) ([]any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var list []any
	for {
		var v any
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
}

// DecodeJSON decodes one value and keeps its numbers as written.
func DecodeJSON(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(v)
}

// Compare compares one value to an expected one, which is JSON. Without a match it
// captures nothing.
func (v JSONVars) Compare(expected string, got any) error {
	var want any
	if err := DecodeJSON([]byte(expected), &want); err != nil {
		return fmt.Errorf("expected value: %w", err)
	}
	return v.Match(want, got)
}

func (v JSONVars) match(path string, want, got any) error {
	switch want := want.(type) {
	case string:
		return v.matchString(path, want, got)
	case map[string]any:
		m, ok := got.(map[string]any)
		if !ok {
			return fmt.Errorf("%s: want an object, got %v", path, got)
		}
		for k, w := range want {
			g, there := m[k]
			switch {
			case w == "$absent" && there:
				return fmt.Errorf("%s/%s: is there: %v", path, k, g)
			case w == "$absent":
				continue
			case !there:
				return fmt.Errorf("%s/%s: is missing", path, k)
			}
			if err := v.match(path+"/"+k, w, g); err != nil {
				return err
			}
		}
		return nil
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return fmt.Errorf("%s: want %d elements, got %v", path, len(want), got)
		}
		for i, w := range want {
			if err := v.match(path+"/"+strconv.Itoa(i), w, list[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if fmt.Sprint(want) != fmt.Sprint(got) {
		return fmt.Errorf("%s: want %v, got %v", path, want, got)
	}
	return nil
}

var (
	uuid7 = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	// moment is a ts: RFC 3339 in UTC, with microseconds or better.
	moment = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6,9}Z$`)
)

func (v JSONVars) matchString(path, want string, got any) error {
	text, _ := got.(string)
	switch want {
	case "$any":
		return nil
	case "$uuid7":
		return unless(uuid7.MatchString(text), path, "a UUIDv7", got)
	case "$now":
		ts, err := time.Parse(time.RFC3339Nano, text)
		recent := err == nil && time.Since(ts).Abs() < 2*Patience
		return unless(recent && moment.MatchString(text), path, "a ts of now", got)
	}
	if name, ok := strings.CutPrefix(want, "$above:"); ok {
		least, err := strconv.ParseInt(fmt.Sprint(v[name]), 10, 64)
		n, err2 := strconv.ParseInt(fmt.Sprint(got), 10, 64)
		return unless(err == nil && err2 == nil && n > least, path, fmt.Sprintf("a number above %v", v[name]), got)
	}
	if name, ok := strings.CutPrefix(want, "$"); ok && name != "" && !strings.ContainsAny(name, " $/{.") {
		known, ok := v[name]
		if !ok {
			v[name] = got
			return nil
		}
		return unless(fmt.Sprint(known) == fmt.Sprint(got), path, fmt.Sprintf("%v ($%s)", known, name), got)
	}
	want = v.Fill(want)
	return unless(want == got, path, strconv.Quote(want), got)
}

func unless(ok bool, path, want string, got any) error {
	if ok {
		return nil
	}
	return fmt.Errorf("%s: want %s, got %v", path, want, got)
}
