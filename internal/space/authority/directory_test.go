package authority_test

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

var start = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// read decodes an envelope that ops sends at a minute after start.
func read(t testing.TB, id int, kind protocol.Kind, payload string) (authority.DirectoryChange, error) {
	t.Helper()
	doc, err := protocol.ParseJSON([]byte(payload), protocol.MaxDepth)
	if err != nil {
		t.Fatal(err)
	}
	e := protocol.Envelope{ID: protocol.ID(fmt.Sprint("e", id)), From: "root", Kind: kind, TS: start.Add(time.Duration(id) * time.Minute)}
	return authority.ReadDirectoryChange(&e, doc.Root())
}

// folder folds entries, which must be valid.
type folder struct {
	t testing.TB
	d authority.Directory
	n int
}

func (f *folder) try(kind protocol.Kind, format string, args ...any) error {
	f.t.Helper()
	f.n++
	c, err := read(f.t, f.n, kind, fmt.Sprintf(format, args...))
	if err == nil {
		f.d, err = f.d.Apply(c)
	}
	return err
}

func (f *folder) must(kind protocol.Kind, format string, args ...any) {
	f.t.Helper()
	if err := f.try(kind, format, args...); err != nil {
		f.t.Fatalf("%s %s: %v", kind, fmt.Sprintf(format, args...), err)
	}
}

func sum(n int) string { return fmt.Sprintf("%064x", n+1) }

func (f *folder) refused(path string, kind protocol.Kind, format string, args ...any) {
	f.t.Helper()
	before := f.d
	refusal := protocol.AsError(f.try(kind, format, args...))
	if refusal == nil || refusal.Code != protocol.CodeInvalidPayload || refusal.Path != path {
		f.t.Errorf("%s %s: got %v %+v, want a refusal at %s", kind, fmt.Sprintf(format, args...), refusal, refusal, path)
	}
	if f.d != before {
		f.t.Error("a refused change has changed the directory")
	}
}

func (f *folder) tokens(space, who string) (list []string) {
	for _, t := range f.d.Space(space).Participant(protocol.ParticipantID(who)).Tokens {
		s := string(t.ID)
		if !t.Expires.IsZero() {
			s += " until " + t.Expires.Sub(start).String()
		}
		list = append(list, s)
	}
	return list
}

func TestApply_SpacesAndParticipants(t *testing.T) {
	f := &folder{t: t}
	f.must(protocol.KindAdminSpacePut, `{"space":"a","visibility":"everyone","decide":"explicit","dialect":"mew/v0.4","limits":{"rate":7,"context_depth":3}}`)
	f.must(protocol.KindAdminParticipantPut, `{"space":"a","participant_id":"bob","capabilities":["chat"],"limits":{"connections":1}}`)
	f.must(protocol.KindAdminTokenIssue, `{"space":"a","participant_id":"bob","token_sha256":%q}`, sum(1))
	f.must(protocol.KindAdminParticipantPut, `{"space":"a","participant_id":"bob","capabilities":["reasoning/*"]}`)
	s := f.d.Space("a")
	if !s.Made || !s.Settings.Everyone || !s.Settings.DecideExplicitly || s.Settings.Dialect != protocol.DialectMEW04 ||
		*s.Settings.Limits.Rate != 7 || *s.Settings.Limits.ContextDepth != 3 {
		t.Errorf("got %+v", s)
	}
	if bob := s.Participant("bob"); len(bob.Tokens) != 1 || bob.Capabilities[0].String() != `"reasoning/*"` || bob.Limits.Connections != nil {
		t.Errorf("got %+v", bob)
	}
	f.refused("/space", protocol.KindAdminSpacePut, `{"space":"a","if_absent":true}`)
	f.refused("/participant_id", protocol.KindAdminParticipantPut, `{"space":"a","participant_id":"bob","if_absent":true}`)
	f.refused("/participant_id", protocol.KindAdminParticipantRemove, `{"space":"a","participant_id":"eve"}`)
	f.refused("/participant_id", protocol.KindAdminTokenIssue, `{"space":"b","participant_id":"bob","token_sha256":%q}`, sum(2))
	f.refused("/space", protocol.KindAdminSpaceRemove, `{"space":"b"}`)
	f.must(protocol.KindAdminParticipantPut, `{"space":"file","participant_id":"bob"}`)
	if f.d.Space("file").Made {
		t.Error("a participant has made a space")
	}
	f.must(protocol.KindAdminParticipantRemove, `{"space":"file","participant_id":"bob"}`)
	f.must(protocol.KindAdminSpaceRemove, `{"space":"a"}`)
	if f.d.Len() != 1 { // the digest of the token that has ended
		t.Errorf("%d elements are left: %s", f.d.Len(), f.d.Encode())
	}
}

// The digest of a token can be read in the log: it is not accepted for another space.
func TestApply_TokenOfAnotherSpace(t *testing.T) {
	f := &folder{t: t}
	for _, space := range []string{"a", "b"} {
		f.must(protocol.KindAdminParticipantPut, `{"space":%q,"participant_id":"bob"}`, space)
	}
	f.must(protocol.KindAdminTokenIssue, `{"space":"a","participant_id":"bob","token_sha256":%q}`, sum(1))
	f.refused("/token_sha256", protocol.KindAdminTokenIssue, `{"space":"b","participant_id":"bob","token_sha256":%q}`, sum(1))
}

// A client may still use a token that has ended, and its digest can be read in the log:
// it is not accepted again.
func TestApply_EndedToken(t *testing.T) {
	const issue = protocol.KindAdminTokenIssue
	for name, end := range map[string]func(f *folder){
		"revoked": func(f *folder) {
			f.must(protocol.KindAdminTokenRevoke, `{"space":"a","participant_id":"bob","token_id":"e3"}`)
		},
		"all revoked": func(f *folder) {
			f.must(protocol.KindAdminTokenRevoke, `{"space":"a","participant_id":"bob","all":true}`)
		},
		"rotated": func(f *folder) {
			f.must(issue, `{"space":"a","participant_id":"bob","token_sha256":%q,"overlap_seconds":0}`, sum(2))
			f.must(issue, `{"space":"a","participant_id":"bob","token_sha256":%q}`, sum(3)) // drops the expired one
		},
		"participant removed": func(f *folder) { f.must(protocol.KindAdminParticipantRemove, `{"space":"a","participant_id":"bob"}`) },
		"space removed":       func(f *folder) { f.must(protocol.KindAdminSpaceRemove, `{"space":"a"}`) },
	} {
		t.Run(name, func(t *testing.T) {
			f := &folder{t: t}
			for _, space := range []string{"a", "b"} {
				f.must(protocol.KindAdminParticipantPut, `{"space":%q,"participant_id":"bob"}`, space)
			}
			f.must(issue, `{"space":"a","participant_id":"bob","token_sha256":%q}`, sum(1)) // e3
			end(f)
			f.must(protocol.KindAdminParticipantPut, `{"space":"a","participant_id":"bob"}`)
			restored, err := authority.DecodeDirectory(f.d.Encode())
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range []authority.Directory{f.d, restored} {
				for _, space := range []string{"a", "b"} {
					f := &folder{t: t, d: d, n: f.n}
					f.refused("/token_sha256", issue, `{"space":%q,"participant_id":"bob","token_sha256":%q}`, space, sum(1))
				}
			}
		})
	}
}

// At the bound, the oldest digest of the administrator with the most is forgotten.
func TestApply_EndedBound(t *testing.T) {
	const issue = `{"space":"a","participant_id":"bob","token_sha256":%q}`
	lead, digest := make([]byte, 0, 32*authority.MaxEnded), [32]byte{0: 1}
	for i := range authority.MaxEnded - 1 {
		binary.BigEndian.PutUint32(digest[28:], uint32(i))
		lead = append(lead, digest[:]...)
	}
	root, err := hex.DecodeString(sum(1))
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.StdEncoding.EncodeToString
	d, err := authority.DecodeDirectory(fmt.Sprintf(`{"ended":[{"by":"lead","sha256":%q},{"by":"root","sha256":%q}]}`, encode(lead), encode(root)))
	if err != nil || d.Len() != authority.MaxEnded {
		t.Fatal(d.Len(), err)
	}
	f := &folder{t: t, d: d}
	f.must(protocol.KindAdminParticipantPut, `{"space":"a","participant_id":"bob"}`)
	f.must(protocol.KindAdminTokenIssue, issue, sum(2))
	f.refused("/token_sha256", protocol.KindAdminTokenIssue, issue, hex.EncodeToString(lead[:32]))
	f.must(protocol.KindAdminTokenRevoke, `{"space":"a","participant_id":"bob","all":true}`)
	if f.d.Len() != authority.MaxEnded+2 { // with the space and the participant
		t.Errorf("there are %d elements", f.d.Len())
	}
	f.refused("/token_sha256", protocol.KindAdminTokenIssue, issue, sum(1))
	f.refused("/token_sha256", protocol.KindAdminTokenIssue, issue, sum(2))
	f.refused("/token_sha256", protocol.KindAdminTokenIssue, issue, hex.EncodeToString(lead[32:64]))
	f.must(protocol.KindAdminTokenIssue, issue, hex.EncodeToString(lead[:32]))
}

func TestApply_Rotation(t *testing.T) {
	f := &folder{t: t}
	f.must(protocol.KindAdminParticipantPut, `{"space":"a","participant_id":"bob"}`)                                                               // e1
	f.must(protocol.KindAdminTokenIssue, `{"space":"a","participant_id":"bob","token_sha256":%q}`, sum(1))                                         // e2
	f.must(protocol.KindAdminTokenIssue, `{"space":"a","participant_id":"bob","token_sha256":%q,"ttl_seconds":120}`, sum(2))                       // e3
	f.refused("/token_sha256", protocol.KindAdminTokenIssue, `{"space":"a","participant_id":"bob","token_sha256":%q}`, sum(1))                     // e4
	f.must(protocol.KindAdminTokenIssue, `{"space":"a","participant_id":"bob","token_sha256":%q,"overlap_seconds":3600}`, strings.ToUpper(sum(3))) // e5: e3 expired at 5m
	if got := fmt.Sprint(f.tokens("a", "bob")); got != "[e2 until 1h5m0s e5]" {
		t.Errorf("after a rotation: %s", got)
	}
	if next := f.d.NextExpiry(start); !next.Equal(start.Add(65 * time.Minute)) {
		t.Errorf("the next expiry is %v", next)
	}
	f.must(protocol.KindAdminTokenIssue, `{"space":"a","participant_id":"bob","token_sha256":%q}`, sum(4)) // e6
	f.refused("/token_id", protocol.KindAdminTokenRevoke, `{"space":"a","participant_id":"bob","token_id":"e3"}`)
	f.must(protocol.KindAdminTokenRevoke, `{"space":"a","participant_id":"bob","token_id":"e2"}`)
	if got := fmt.Sprint(f.tokens("a", "bob")); got != "[e5 e6]" {
		t.Errorf("after a revocation: %s", got)
	}
	f.must(protocol.KindAdminTokenRevoke, `{"space":"a","participant_id":"bob","all":true}`)
	f.must(protocol.KindAdminTokenIssue, `{"space":"a","participant_id":"bob","token_sha256":%q,"overlap_seconds":0}`, sum(5))
}

func TestRead_Refusals(t *testing.T) {
	f := &folder{t: t}
	f.must(protocol.KindAdminParticipantPut, `{"space":"a","participant_id":"bob"}`)
	for path, payload := range map[string]string{
		"/space":           `{"space":"team-*","participant_id":"bob","token_sha256":"` + sum(1) + `"}`,
		"/participant_id":  `{"space":"a","participant_id":"system:gateway","token_sha256":"` + sum(1) + `"}`,
		"/token_sha256":    `{"space":"a","participant_id":"bob","token_sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}`,
		"/ttl_second":      `{"space":"a","participant_id":"bob","token_sha256":"` + sum(1) + `","ttl_second":5}`,
		"/ttl_seconds":     `{"space":"a","participant_id":"bob","token_sha256":"` + sum(1) + `","ttl_seconds":1e300}`,
		"/overlap_seconds": `{"space":"a","participant_id":"bob","token_sha256":"` + sum(1) + `","overlap_seconds":-1}`,
		"":                 `[]`,
		"/capabilities":    `{"space":"a","participant_id":"bob","token_sha256":"` + sum(1) + `","capabilities":[]}`,
	} {
		t.Run(strings.TrimPrefix(path, "/"), func(t *testing.T) {
			f := &folder{t: t, d: f.d}
			f.refused(path, protocol.KindAdminTokenIssue, "%s", payload)
		})
	}
	f.refused("/token_id", protocol.KindAdminTokenRevoke, `{"space":"a","participant_id":"bob"}`)
	f.refused("/token_id", protocol.KindAdminTokenRevoke, `{"space":"a","participant_id":"bob","token_id":"x","all":true}`)
	f.refused("/limits/kinds", protocol.KindAdminSpacePut, `{"space":"a","limits":{"kinds":[]}}`)
	f.refused("/limits/burst", protocol.KindAdminSpacePut, `{"space":"a","limits":{"burst":1.5}}`)
	f.refused("/limits/rate", protocol.KindAdminSpacePut, `{"space":"a","limits":{"rate":-1}}`)
	f.refused("/visibility", protocol.KindAdminSpacePut, `{"space":"a","visibility":"all"}`)
	f.refused("/capabilities/0", protocol.KindAdminParticipantPut, `{"space":"a","participant_id":"bob","capabilities":["/(/"]}`)
}

func TestApply_Bounds(t *testing.T) {
	testkit.OneGoroutine(t)
	f := &folder{t: t}
	for i := range authority.MaxSpaces {
		f.must(protocol.KindAdminSpacePut, `{"space":"s%d"}`, i)
	}
	f.refused("/space", protocol.KindAdminSpacePut, `{"space":"more"}`)
	f.refused("/space", protocol.KindAdminParticipantPut, `{"space":"more","participant_id":"p"}`)
	for i := range authority.MaxParticipants {
		f.must(protocol.KindAdminParticipantPut, `{"space":"s%d","participant_id":"p%d"}`, i%100, i)
	}
	f.refused("/participant_id", protocol.KindAdminParticipantPut, `{"space":"s0","participant_id":"more"}`)
	n := 0
	for ; n < authority.MaxTokens; n++ {
		ttl := ""
		if n == 0 {
			ttl = `,"ttl_seconds":1`
		}
		f.must(protocol.KindAdminTokenIssue, `{"space":"s%d","participant_id":"p%d","token_sha256":%q%s}`, n%authority.MaxParticipants%100, n%authority.MaxParticipants, sum(n), ttl)
	}
	f.must(protocol.KindAdminTokenIssue, `{"space":"s5","participant_id":"p5","token_sha256":%q}`, sum(n+1)) // instead of the expired one
	f.refused("/token_sha256", protocol.KindAdminTokenIssue, `{"space":"s6","participant_id":"p6","token_sha256":%q}`, sum(n+2))
	f.must(protocol.KindAdminTokenRevoke, `{"space":"s7","participant_id":"p7","all":true}`)
	big := `"` + strings.Repeat("a", 100) + `"`
	for i := 0; ; i++ {
		list := strings.Repeat(big+",", 63) + big
		if f.try(protocol.KindAdminParticipantPut, `{"space":"s%d","participant_id":"p%d","capabilities":[%s]}`, i%100, i, list) != nil {
			f.refused("/capabilities", protocol.KindAdminParticipantPut, `{"space":"s%d","participant_id":"p%d","capabilities":[%s]}`, i%100, i, list)
			break
		}
	}
	again, err := authority.DecodeDirectory(f.d.Encode())
	if err != nil || again.Encode() != f.d.Encode() || again.Len() != f.d.Len() {
		t.Errorf("the restored directory differs: %v", err)
	}
}

func TestApply_TokensOfOneParticipant(t *testing.T) {
	f := &folder{t: t}
	f.must(protocol.KindAdminParticipantPut, `{"space":"a","participant_id":"bob"}`)
	for i := range authority.MaxTokensPerParticipant {
		f.must(protocol.KindAdminTokenIssue, `{"space":"a","participant_id":"bob","token_sha256":%q}`, sum(i))
	}
	f.refused("/participant_id", protocol.KindAdminTokenIssue, `{"space":"a","participant_id":"bob","token_sha256":%q}`, sum(99))
}

// TestDecode_ContinuesAlike: a directory that was stored and restored takes the same
// decisions about later entries as the one that was folded.
func TestDecode_ContinuesAlike(t *testing.T) {
	rng := testkit.Rand(t)
	f := &folder{t: t}
	step := func(f *folder, r *rand.Rand) error {
		space, who, n := r.IntN(4), r.IntN(4), r.IntN(12)
		switch r.IntN(8) {
		case 0:
			return f.try(protocol.KindAdminSpacePut, `{"space":"s%d","limits":{"rate":%d}}`, space, n)
		case 1:
			return f.try(protocol.KindAdminSpaceRemove, `{"space":"s%d"}`, space)
		case 2:
			return f.try(protocol.KindAdminParticipantRemove, `{"space":"s%d","participant_id":"p%d"}`, space, who)
		case 3, 4:
			return f.try(protocol.KindAdminParticipantPut, `{"space":"s%d","participant_id":"p%d","capabilities":["chat",{"kind":"x.<&>"}]}`, space, who)
		case 5:
			return f.try(protocol.KindAdminTokenRevoke, `{"space":"s%d","participant_id":"p%d","all":true}`, space, who)
		}
		return f.try(protocol.KindAdminTokenIssue, `{"space":"s%d","participant_id":"p%d","token_sha256":%q,"ttl_seconds":%d}`, space, who, sum(r.IntN(100)), 60*(1+n))
	}
	for range 200 {
		_ = step(f, rng) // refused ones too
		d, err := authority.DecodeDirectory(f.d.Encode())
		if err != nil || d.Encode() != f.d.Encode() || d.Len() != f.d.Len() {
			t.Fatalf("restored: %v\n%s\n%s", err, d.Encode(), f.d.Encode())
		}
		one, two := *f, folder{t: t, d: d, n: f.n}
		seed := rng.Uint64()
		if a, b := step(&one, rand.New(rand.NewPCG(seed, 1))), step(&two, rand.New(rand.NewPCG(seed, 1))); fmt.Sprint(a) != fmt.Sprint(b) || one.d.Encode() != two.d.Encode() {
			t.Fatalf("folded: %v, restored: %v", a, b)
		}
	}
}

func TestDecode_Damaged(t *testing.T) {
	for _, text := range []string{`{`, `{"spaces":[{"name":"b"},{"name":"a"}]}`, `{"spaces":[{"name":"a","dialect":"x"}]}`,
		`{"spaces":[{"name":"a","participants":[{"id":"b"},{"id":"b"}]}]}`, `{"spaces":[{"name":"a","participants":[{"id":"b","capabilities":["/(/"]}]}]}`,
		`{"spaces":[{"name":"a","participants":[{"id":"b","tokens":[{"sha256":"00"}]}]}]}`, `{"ended":[{"by":"a","sha256":"AAAA"}]}`,
		`{"ended":[{"by":"a"},{"by":"a"}]}`} {
		if _, err := authority.DecodeDirectory(text); err == nil {
			t.Errorf("%s was accepted", text)
		}
	}
}

// FuzzRead: no payload makes Read or Apply panic, an accepted change survives being
// stored, and nothing but a known field is accepted.
func FuzzRead(f *testing.F) {
	kinds := []protocol.Kind{
		protocol.KindAdminSpacePut, protocol.KindAdminSpaceRemove, protocol.KindAdminParticipantPut,
		protocol.KindAdminParticipantRemove, protocol.KindAdminTokenIssue, protocol.KindAdminTokenRevoke, protocol.KindChat,
	}
	f.Add(0, `{"space":"a","limits":{"rate":1e3,"burst":2},"dialect":"meup/v0.2"}`)
	f.Add(2, `{"space":"a","participant_id":"b","capabilities":["chat",{"kind":"mcp.request","payload":{"x":"!y"}}]}`)
	f.Add(4, `{"space":"a","participant_id":"b","token_sha256":"`+sum(1)+`","ttl_seconds":0.1,"overlap_seconds":1e9}`)
	f.Add(5, `{"space":"a","participant_id":"b","all":true}`)
	base := &folder{t: f}
	base.must(protocol.KindAdminSpacePut, `{"space":"a"}`)
	base.must(protocol.KindAdminParticipantPut, `{"space":"a","participant_id":"b"}`)
	base.must(protocol.KindAdminTokenIssue, `{"space":"a","participant_id":"b","token_sha256":%q}`, sum(0))
	f.Fuzz(func(t *testing.T, kind int, payload string) {
		doc, err := protocol.ParseJSON([]byte(payload), protocol.MaxDepth)
		if err != nil {
			return
		}
		e := protocol.Envelope{ID: "e9", From: "root", Kind: kinds[uint(kind)%uint(len(kinds))], TS: start.Add(time.Hour)}
		c, err := authority.ReadDirectoryChange(&e, doc.Root())
		if err != nil {
			return
		}
		if doc.Root().Len() > 7 || c.Space == "" {
			t.Errorf("accepted %s", payload)
		}
		d, err := base.d.Apply(c)
		if err != nil {
			return
		}
		if again, err := authority.DecodeDirectory(d.Encode()); err != nil || again.Encode() != d.Encode() {
			t.Errorf("%s: restored as %s, %v", payload, again.Encode(), err)
		}
	})
}

// BenchmarkFold folds 100,000 entries: rotations of the tokens of 1,000 participants.
func BenchmarkFold(b *testing.B) {
	base := &folder{t: b}
	for i := range 1000 {
		base.must(protocol.KindAdminParticipantPut, `{"space":"s%d","participant_id":"p%d","capabilities":["chat","reasoning/*"]}`, i%50, i)
	}
	for b.Loop() {
		f := *base
		for i := range 100_000 {
			f.must(protocol.KindAdminTokenIssue, `{"space":"s%d","participant_id":"p%d","token_sha256":%q,"overlap_seconds":60}`, i%50, i%1000, sum(i))
		}
	}
}
