package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
)

// changingResolver is a resolver whose answers change between lookups.
type changingResolver struct {
	mu      sync.Mutex
	answers map[string][][]string // by host; the last repeats
	asked   int
}

func (n *changingResolver) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked++
	list := n.answers[host]
	if len(list) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(list) > 1 {
		n.answers[host] = list[1:]
	}
	var out []netip.Addr
	for _, a := range list[0] {
		out = append(out, netip.MustParseAddr(a))
	}
	return out, nil
}

func TestPublicAddresses(t *testing.T) {
	g, err := NewGuard(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		addr string
		want bool
	}{
		{"8.8.8.8", true}, {"1.1.1.1", true}, {"2606:4700:4700::1111", true}, {"172.32.0.1", true}, {"100.128.0.1", true},
		{"0.0.0.0", false}, {"0.1.2.3", false}, {"10.0.0.1", false}, {"100.64.0.1", false}, {"100.100.100.200", false},
		{"127.0.0.1", false}, {"127.255.255.254", false}, {"169.254.169.254", false}, {"172.16.0.1", false}, {"172.31.255.255", false},
		{"192.0.0.192", false}, {"192.0.2.1", false}, {"192.88.99.1", false}, {"192.168.1.1", false}, {"198.18.0.1", false},
		{"198.51.100.1", false}, {"203.0.113.1", false}, {"224.0.0.1", false}, {"239.255.255.255", false}, {"240.0.0.1", false},
		{"255.255.255.255", false}, {"168.63.129.16", false},
		{"::", false}, {"::1", false}, {"::7f00:1", false}, {"fe80::1", false}, {"fe80::1%eth0", false}, {"fec0::1", false},
		{"fc00::1", false}, {"fd00:ec2::254", false}, {"ff02::1", false}, {"2001:db8::1", false}, {"3fff::1", false}, {"100::1", false},
		{"2001::1", false}, {"5f00::1", false},
		{"::ffff:127.0.0.1", false}, {"::ffff:10.0.0.1", false}, {"::ffff:169.254.169.254", false}, {"::ffff:8.8.8.8", true},
		{"64:ff9b::7f00:1", false}, {"64:ff9b::a00:1", false}, {"64:ff9b::a9fe:a9fe", false}, {"64:ff9b::808:808", true}, {"64:ff9b:1::1", false},
		{"2002:7f00:1::1", false}, {"2002:a00:1::1", false}, {"2002:a9fe:a9fe::", false}, {"2002:808:808::1", true},
		{"2001:4860:4860::8888%eth0", false},
	} {
		t.Run(test.addr, func(t *testing.T) {
			if got := g.permits(netip.MustParseAddr(test.addr)); got != test.want {
				t.Errorf("%s: %v", test.addr, got)
			}
		})
	}
	if g.permits(netip.Addr{}) {
		t.Error("no address is let through")
	}
}

func TestGuard_URLs(t *testing.T) {
	dns := &changingResolver{answers: map[string][][]string{
		"public.example":  {{"8.8.8.8", "2606:4700::1"}},
		"mixed.example":   {{"8.8.8.8", "10.0.0.1"}},
		"local.example":   {{"127.0.0.1"}},
		"inside.internal": {{"10.1.2.3"}},
		"127.1":           {{"127.0.0.1"}},
		"localhost.":      {{"127.0.0.1"}},
	}}
	g, err := NewGuard([]string{"Inside.Internal.", "10.9.0.0/16", "192.168.7.7", "[fd00::7]"}, dns)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ url, why string }{
		{"https://public.example/cb?x=1", ""},
		{"http://public.example:8080/", ""},
		{"http://8.8.8.8/", ""},
		{"http://inside.internal/", ""},
		{"http://10.9.1.2/", ""},
		{"http://192.168.7.7:81/", ""},
		{"http://[fd00::7]/", ""},
		{"http://[::ffff:10.9.1.2]/", ""},
		{"http://192.168.7.8/", "is not public"},
		{"http://mixed.example/", "not public"},
		{"http://local.example/", "not public"},
		{"http://localhost./", "not public"},
		{"http://127.1/", "not public"},
		{"http://2130706433/", "was not found"},
		{"http://127.0.0.1/", "is not public"},
		{"http://[::1]:80/", "is not public"},
		{"http://[::ffff:7f00:1]/", "is not public"},
		{"http://[64:ff9b::7f00:1]/", "is not public"},
		{"http://[fe80::1%25eth0]/", "zone"},
		{"http://169.254.169.254/latest/meta-data", "is not public"},
		{"http://nowhere.example/", "was not found"},
		{"ftp://public.example/", "http or https"},
		{"file:///etc/passwd", "http or https"},
		{"gopher://8.8.8.8/", "http or https"},
		{"//public.example/", "http or https"},
		{"http://user:pw@public.example/", "password"},
		{"http:///x", "no host"},
		{"http://%zz/", "not a URL"},
		{"http://public.example:bad/", "not a URL"},
		{"http://public.example/" + strings.Repeat("x", maxURL), "longer"},
	} {
		t.Run(fmt.Sprintf("%.60s", test.url), func(t *testing.T) {
			err := g.Check(t.Context(), test.url)
			if test.why == "" && err != nil || test.why != "" && (err == nil || !strings.Contains(err.Error(), test.why)) {
				t.Errorf("%.60s: %v", test.url, err)
			}
			if err != nil && (strings.Contains(err.Error(), "10.0.0.1") || strings.Contains(err.Error(), "pw")) {
				t.Errorf("%s tells too much", err)
			}
		})
	}
}

func TestGuard_InvalidEntries(t *testing.T) {
	for _, entry := range []string{"", "http://x", "a b", "*.internal", "x:80", "10.0.0.0/33", "a@b"} {
		if _, err := NewGuard([]string{entry}, nil); err == nil {
			t.Errorf("%q was taken", entry)
		}
	}
}

// TestGuard_Rebinding: a name that is public when the request is accepted and
// local when it is dialed is not connected to.
func TestGuard_Rebinding(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	dns := &changingResolver{answers: map[string][][]string{"rebind.example": {{"8.8.8.8"}, {"127.0.0.1"}}}}
	g, err := NewGuard(nil, dns)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Check(t.Context(), "http://rebind.example:"+port+"/"); err != nil {
		t.Fatal(err)
	}
	c, err := g.DialContext(t.Context(), "tcp", "rebind.example:"+port)
	if c != nil || !errors.Is(err, errForbiddenAddress) || dns.asked != 2 {
		t.Errorf("%v, %v, asked %d times", c, err, dns.asked)
	}
	// The last check, in case the first ones are bypassed.
	if err := g.control("127.0.0.1:80"); !errors.Is(err, errForbiddenAddress) {
		t.Error(err)
	}
	if err := g.control("[::ffff:10.0.0.1]:80"); !errors.Is(err, errForbiddenAddress) {
		t.Error(err)
	}
	if err := g.control("nonsense"); !errors.Is(err, errForbiddenAddress) {
		t.Error(err)
	}
}

// TestGuard_DialsNextAddress: if one address of a host is unreachable, the next
// one is dialed.
func TestGuard_DialsNextAddress(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	g, err := NewGuard([]string{"two.example"}, &changingResolver{answers: map[string][][]string{"two.example": {{"127.99.99.99", "127.0.0.1"}}}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := g.DialContext(t.Context(), "tcp", "two.example:"+port)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}
