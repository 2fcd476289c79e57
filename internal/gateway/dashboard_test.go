package gateway_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/meup-protocol/meup/internal/gateway"
)

// panel has the fields of a panel of a Grafana dashboard that the test uses.
type panel struct {
	Title       string
	Type        string
	Description string
	Targets     []struct{ Expr string }
}

func dashboard(t *testing.T) []panel {
	t.Helper()
	data, err := os.ReadFile("../../deploy/grafana/meup-gateway.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct{ Panels []panel }
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	return d.Panels
}

var metricName = regexp.MustCompile(`\b(meup|go|process)_[a-z_]+\b`)

// Every metric in the dashboard exists, and every metric of the gateway is in
// the dashboard.
func TestDashboard(t *testing.T) {
	names := registeredNames(t)
	shown := make(map[string]bool)
	for _, p := range dashboard(t) {
		if p.Type == "row" {
			continue
		}
		if p.Description == "" || len(p.Targets) == 0 {
			t.Errorf("panel %q has no description or no query", p.Title)
		}
		for _, target := range p.Targets {
			asked := metricName.FindAllString(target.Expr, -1)
			if len(asked) == 0 {
				t.Errorf("panel %q asks for no metric: %s", p.Title, target.Expr)
			}
			for _, name := range asked {
				if !slices.Contains(names, base(name)) {
					t.Errorf("panel %q asks for %s, which does not exist", p.Title, name)
				}
				shown[base(name)] = true
			}
		}
	}
	for _, name := range names {
		if strings.HasPrefix(name, "meup_") && !shown[name] {
			t.Errorf("no panel shows %s", name)
		}
	}
}

// TestAlerts checks that every alert rule asks for metrics that exist, and has a
// row in the documentation.
func TestAlerts(t *testing.T) {
	data, err := os.ReadFile("../../deploy/prometheus/meup-alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := yaml.UnmarshalWithOptions(data, &file, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	manual, err := os.ReadFile("../../docs/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	names := append(registeredNames(t), "process_max_fds")
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			t.Run(rule.Alert, func(t *testing.T) {
				asked := metricName.FindAllString(rule.Expr, -1)
				if len(asked) == 0 && !strings.HasPrefix(rule.Expr, "up{") {
					t.Errorf("it asks for no metric: %s", rule.Expr)
				}
				for _, name := range asked {
					if !slices.Contains(names, base(name)) {
						t.Errorf("it asks for %s, which does not exist", name)
					}
				}
				if !slices.Contains([]string{"info", "warning", "critical"}, rule.Labels["severity"]) || rule.Annotations["summary"] == "" {
					t.Errorf("labels %v, annotations %v", rule.Labels, rule.Annotations)
				}
				if !strings.Contains(string(manual), "| `"+rule.Alert+"` |") {
					t.Error("docs/operate.md does not describe it")
				}
			})
		}
	}
	if len(file.Groups) == 0 {
		t.Error("there are no rules")
	}
}

func registeredNames(t *testing.T) []string {
	t.Helper()
	families, err := sampled(gateway.MetricsOptions{}).Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range families {
		names = append(names, f.GetName())
	}
	return names
}

// base returns the family name of a histogram's series.
func base(name string) string {
	for _, suffix := range []string{"_bucket", "_count", "_sum"} {
		if s, ok := strings.CutSuffix(name, suffix); ok {
			return s
		}
	}
	return name
}
