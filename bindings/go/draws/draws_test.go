package draws

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"
)

// The vectors that Rust's tests read.
type file struct {
	Content struct {
		Cases []struct {
			Value, Application, Transaction, Index, Draw string
			Numbers                                      []struct{ Bound, Number string }
			Orders                                       []struct {
				Among string
				Order []string
			}
		}
		Refused []struct{ Application, Transaction, Reason string }
	}
}

func vectors(t *testing.T) file {
	t.Helper()
	text, err := os.ReadFile("../../../crypto-core/tests/vectors/model/draws.json")
	if err != nil {
		t.Fatal(err)
	}
	var read file
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	if len(read.Content.Cases) < 10 || len(read.Content.Refused) < 5 {
		t.Fatal("hardly any vectors")
	}
	return read
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	bytes, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

func whole(t *testing.T, text string) uint64 {
	t.Helper()
	number, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return number
}

func TestDrawsAreWhatTheModelDraws(t *testing.T) {
	for _, one := range vectors(t).Content.Cases {
		all, err := New([32]byte(unhex(t, one.Value)), one.Application, unhex(t, one.Transaction))
		if err != nil {
			t.Fatal(err)
		}
		draw := all.At(whole(t, one.Index))
		if hex.EncodeToString(draw[:]) != one.Draw {
			t.Errorf("draw %x, expected %s", draw, one.Draw)
		}
		for _, want := range one.Numbers {
			got, err := draw.Below(whole(t, want.Bound))
			if err != nil || got != whole(t, want.Number) {
				t.Errorf("%d below %s, expected %s: %v", got, want.Bound, want.Number, err)
			}
		}
		for _, want := range one.Orders {
			places := make([]uint64, len(want.Order))
			for at, place := range want.Order {
				places[at] = whole(t, place)
			}
			among := whole(t, want.Among)
			got, err := draw.Order(among, len(places))
			if err != nil || !slices.Equal(got, places) {
				t.Errorf("%v of %d, expected %v: %v", got, among, places, err)
			}
			if among != uint64(len(places)) {
				continue
			}
			items := make([]uint64, len(places))
			for at := range items {
				items[at] = uint64(at)
			}
			if Shuffle(draw, items); !slices.Equal(items, places) {
				t.Errorf("shuffled %v, expected %v", items, places)
			}
		}
	}
}

func TestWhatTheModelRefusesIsRefused(t *testing.T) {
	for _, one := range vectors(t).Content.Refused {
		want := ErrTransaction
		if one.Reason == "application" {
			want = ErrApplication
		}
		if _, err := New([32]byte{}, one.Application, unhex(t, one.Transaction)); !errors.Is(err, want) {
			t.Errorf("%q: %v", one.Application, err)
		}
	}
}

func TestQuestionsWithoutAnAnswer(t *testing.T) {
	if _, err := (Draw{}).Below(0); !errors.Is(err, ErrBound) {
		t.Error(err)
	}
	for _, count := range []int{-1, 4, math.MaxInt} {
		if _, err := (Draw{}).Order(3, count); !errors.Is(err, ErrCount) {
			t.Error(count, err)
		}
	}
}

func TestANumberEndsAfter128Words(t *testing.T) {
	asked := uint64(0)
	next := func() uint64 {
		asked++
		return math.MaxUint64 - asked
	}
	if got := pick(next, 1<<63+1); asked != 128 || got != (math.MaxUint64-128)%(1<<63+1) {
		t.Error(asked, got)
	}
}

// What is drawn from is copied.
func TestDrawsKeepTheirTransaction(t *testing.T) {
	transaction := []byte("transaction")
	all, err := New([32]byte{}, "acme/raffle", transaction)
	if err != nil {
		t.Fatal(err)
	}
	before := all.At(0)
	transaction[0] = 'T'
	if all.At(1) == before || all.At(0) != before {
		t.Error("a draw has changed")
	}
}
