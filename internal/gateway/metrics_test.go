package gateway_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/meup-protocol/meup/internal/gateway"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/protocol"
)

var _ space.Observer = (*gateway.Metrics)(nil)

// scrape returns the output for a scraper.
func scrape(t *testing.T, m *gateway.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("scrape: status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// wantLines checks that each of the lines is in the text.
func wantLines(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("no line %q", line)
		}
	}
}

func sampled(o gateway.MetricsOptions) *gateway.Metrics {
	m := gateway.NewMetrics(o)
	m.Sample(gateway.Sources{
		Ready:   func() error { return nil },
		Spaces:  func() int { return 0 },
		Joining: func() int { return 0 },

		CertificateExpiry: func() time.Time { return time.Unix(2_000_000_000, 0) },
	})
	m.Found("leaks", "jwt") // a rule without findings has no series
	return m
}

func TestCounts(t *testing.T) {
	m := gateway.NewMetrics(gateway.MetricsOptions{})
	m.Admitted(protocol.KindChat)
	m.Admitted(protocol.KindChat)
	m.Refused(protocol.CodeRateLimited)
	m.Delivered(7, 3*time.Millisecond)
	m.FromRing(5)
	m.FromJournal(2)
	m.LiveDropped(4)
	m.Connections(3)
	m.Connections(-1)
	m.Committed(10, 4096, 2*time.Millisecond)
	m.Followed()
	m.Found("leaks", "jwt")
	m.LoginFailed()
	m.ViolationClose()

	wantLines(t, scrape(t, m),
		`meup_envelopes_admitted_total{kind="chat"} 2`,
		`meup_refused_total{code="rate_limited"} 1`,
		`meup_envelopes_delivered_total 7`,
		`meup_delivery_lag_seconds_bucket{le="0.0025"} 0`,
		`meup_delivery_lag_seconds_bucket{le="0.005"} 1`,
		`meup_delivery_lag_seconds_count 1`,
		`meup_entries_read_total{source="ring"} 5`,
		`meup_entries_read_total{source="journal"} 2`,
		`meup_live_dropped_total 4`,
		`meup_connections{state="open"} 2`,
		`meup_journal_entries_total 10`,
		`meup_journal_bytes_total 4096`,
		`meup_journal_commit_seconds_count 1`,
		`meup_journal_consumers_total 1`,
		`meup_safety_findings_total{rule="jwt",stage="leaks"} 1`,
		`meup_login_failures_total 1`,
		`meup_violation_closes_total 1`,
	)
}

// series returns the number of series of the gateway.
func series(t *testing.T, m *gateway.Metrics) int {
	t.Helper()
	n := 0
	for line := range strings.Lines(scrape(t, m)) {
		if strings.HasPrefix(line, "meup_") {
			n++
		}
	}
	return n
}

func TestLabels_UnknownAreOther(t *testing.T) {
	m := sampled(gateway.MetricsOptions{})
	before := series(t, m)
	for i := range 1000 {
		n := strconv.Itoa(i)
		m.Admitted(protocol.Kind("x." + n))
		m.Refused(protocol.Code("code-" + n))
	}
	wantLines(t, scrape(t, m),
		`meup_envelopes_admitted_total{kind="other"} 1000`,
		`meup_refused_total{code="other"} 1000`,
	)
	if after := series(t, m); after != before {
		t.Errorf("%d series before a stranger's kinds, %d behind them", before, after)
	}
}

func TestDelivered_ClockSkew(t *testing.T) {
	m := gateway.NewMetrics(gateway.MetricsOptions{})
	m.Delivered(1, -time.Second)
	wantLines(t, scrape(t, m), `meup_delivery_lag_seconds_sum 0`)
}

func TestSources(t *testing.T) {
	m := gateway.NewMetrics(gateway.MetricsOptions{})
	var broken error
	m.Sample(gateway.Sources{
		Ready:   func() error { return broken },
		Spaces:  func() int { return 12 },
		Joining: func() int { return 3 },
	})
	wantLines(t, scrape(t, m), `meup_ready 1`, `meup_spaces_open 12`, `meup_connections{state="joining"} 3`)
	broken = errors.New("disk full")
	wantLines(t, scrape(t, m), `meup_ready 0`)
}

func TestBuildInfo(t *testing.T) {
	m := gateway.NewMetrics(gateway.MetricsOptions{Version: "v1.2.3", Commit: "abc"})
	text := scrape(t, m)
	for _, want := range []string{`meup_build_info{`, `version="v1.2.3"`, `commit="abc"`, `go="go1.`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
}

// Each gateway has a registry of its own, so that several fit into one process.
func TestTwoGateways(t *testing.T) {
	a, b := sampled(gateway.MetricsOptions{}), sampled(gateway.MetricsOptions{})
	a.LoginFailed()
	wantLines(t, scrape(t, b), `meup_login_failures_total 0`)
}

// TestNames checks names, units and help texts against Prometheus' own rules.
func TestNames(t *testing.T) {
	m := sampled(gateway.MetricsOptions{})
	problems, err := testutil.GatherAndLint(m.Registry())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	for line := range strings.Lines(scrape(t, m)) {
		name, help, found := strings.Cut(strings.TrimPrefix(line, "# HELP "), " ")
		if !found || !strings.HasPrefix(line, "# HELP ") {
			continue
		}
		if !strings.HasPrefix(name, "meup_") && !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") {
			t.Errorf("%s is not of this gateway", name)
		}
		if strings.TrimSpace(help) == "" {
			t.Errorf("%s has no help", name)
		}
	}
}

// TestLabels_MatchProtocol reads the protocol's source: a new kind or
// code must be counted by its name.
func TestLabels_MatchProtocol(t *testing.T) {
	m := gateway.NewMetrics(gateway.MetricsOptions{})
	text := scrape(t, m)
	for typeName, format := range map[string]string{
		"Kind": `meup_envelopes_admitted_total{kind="%"} 0`,
		"Code": `meup_refused_total{code="%"} 0`,
	} {
		values := constants(t, typeName)
		if len(values) < 10 {
			t.Fatalf("found %d constants of type %s", len(values), typeName)
		}
		for _, v := range values {
			wantLines(t, text, strings.Replace(format, "%", v, 1))
		}
	}
}

// constants returns the values of the protocol's string constants of a type.
func constants(t *testing.T, typeName string) []string {
	t.Helper()
	notTest := func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }
	packages, err := parser.ParseDir(token.NewFileSet(), "../../protocol", notTest, 0) //nolint:staticcheck // no build tags there
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	ast.Inspect(packages["protocol"], func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if ident, ok := spec.Type.(*ast.Ident); !ok || ident.Name != typeName {
			return true
		}
		for _, v := range spec.Values {
			if lit, ok := v.(*ast.BasicLit); ok {
				s, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				values = append(values, s)
			}
		}
		return true
	})
	return values
}

// Methods that are called for every envelope and every write must not allocate.
func TestHotPath(t *testing.T) {
	m := gateway.NewMetrics(gateway.MetricsOptions{})
	if n := testing.AllocsPerRun(100, func() { hotPath(m) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func hotPath(m *gateway.Metrics) {
	m.Admitted(protocol.KindMCPRequest)
	m.Refused(protocol.CodeRateLimited)
	m.FromRing(16)
	m.Delivered(16, 300*time.Microsecond)
}

func BenchmarkAdmitted(b *testing.B) {
	m := gateway.NewMetrics(gateway.MetricsOptions{})
	b.ReportAllocs()
	for b.Loop() {
		m.Admitted(protocol.KindReasoningThought)
	}
}

func BenchmarkDelivered(b *testing.B) {
	m := gateway.NewMetrics(gateway.MetricsOptions{})
	b.ReportAllocs()
	for b.Loop() {
		m.Delivered(16, 300*time.Microsecond)
	}
}

func BenchmarkDeliveredByMany(b *testing.B) {
	m := gateway.NewMetrics(gateway.MetricsOptions{})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			m.FromRing(16)
			m.Delivered(16, 300*time.Microsecond)
		}
	})
}
