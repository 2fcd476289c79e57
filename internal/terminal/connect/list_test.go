package connect

import (
	"errors"
	"fmt"
	"testing"

	"github.com/meup-protocol/meup/protocol"
)

// The items are 250 to 1.
func TestPages(t *testing.T) {
	read := func(limit int, before protocol.Seq) (list []protocol.Seq, next protocol.Seq, more bool, err error) {
		if before == 0 {
			before = 251
		}
		for next = before; next > 1 && len(list) < limit; {
			next--
			list = append(list, next)
		}
		return list, next, next > 1, nil
	}
	for most, want := range map[int]string{
		0: "250 from 250 to 1, next 1, more false", 1: "1 from 250 to 250, next 250, more true", 100: "100 from 250 to 151, next 151, more true",
		130: "130 from 250 to 121, next 121, more true", 250: "250 from 250 to 1, next 1, more false", 300: "250 from 250 to 1, next 1, more false",
	} {
		all, next, more, err := Pages(most, read)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%d from %d to %d, next %d, more %t", len(all), all[0], all[len(all)-1], next, more); got != want {
			t.Errorf("at most %d: %s, want %s", most, got, want)
		}
	}
}

// A gateway that repeats a page does not hold the caller, and an empty list is not null.
func TestPages_Ends(t *testing.T) {
	calls := 0
	all, _, _, err := Pages(0, func(int, protocol.Seq) ([]int, protocol.Seq, bool, error) {
		calls++
		return nil, 7, true, nil
	})
	if err != nil || all == nil || len(all) != 0 || calls != 2 {
		t.Errorf("%v after %d pages: %v", all, calls, err)
	}
	broken := errors.New("broken")
	if _, _, _, err := Pages(0, func(int, protocol.Seq) ([]int, protocol.Seq, bool, error) { return nil, 0, false, broken }); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}
