// Package draws derives random numbers for transactions from the random value of their slot.
//
// A slot has one random value, and many transactions that want random numbers from it. Each of them gets
// separate numbers, the same in Go, Rust, Python and JavaScript:
//
//	all, err := draws.New(value, "acme/raffle", bet)
//	if err != nil {
//		return err
//	}
//	dice, err := all.At(0).Below(6)        // one draw, one question
//	winners, err := all.At(1).Order(250, 3) // three of 250 tickets
//
// The value must have been verified before. Everybody who knows it knows all its draws: this is no generator of
// secrets. What a contract must not do with such numbers is a page of Prefinal's book, "Random numbers in
// contracts".
package draws

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

const (
	seedTag  = "PREFINAL-V1-DRAW-SEED"
	wordsTag = "PREFINAL-V1-DRAW-WORDS"
	maxName  = 64
	// So many words are tried for one number. The last one is taken as it is, which happens with a
	// probability below 2^-128.
	tries = 128
)

// What errors are, for errors.Is.
var (
	// ErrApplication says that the name is not 1 to 64 visible ASCII letters.
	ErrApplication = errors.New("name of the application: expected 1 to 64 visible ASCII letters")
	// ErrTransaction says that the transaction is empty, so that all transactions would draw the same.
	ErrTransaction = errors.New("transaction is empty: pass its hash")
	// ErrBound says that no number is below the bound.
	ErrBound = errors.New("bound is 0, and no number is below")
	// ErrCount says that more places are asked for than there are.
	ErrCount = errors.New("count of places")
)

// Draws are all draws of one transaction in one application.
type Draws struct {
	// What is hashed before the index.
	prefix []byte
}

// New gives the draws of a transaction from the value of its slot. Applications of different names draw
// independently. The transaction names what is drawn for, as nobody can choose it who knows the value: the number
// that the contract gave a bet, or the hash of the one transaction that placed it. The bytes are copied.
func New(value [32]byte, application string, transaction []byte) (*Draws, error) {
	if len(application) < 1 || len(application) > maxName {
		return nil, fmt.Errorf("%w, got %d bytes", ErrApplication, len(application))
	}
	for at := range len(application) {
		if letter := application[at]; letter < '!' || letter > '~' {
			return nil, fmt.Errorf("%w, got another at byte %d", ErrApplication, at)
		}
	}
	if len(transaction) == 0 {
		return nil, ErrTransaction
	}
	prefix := append([]byte(seedTag), value[:]...)
	prefix = append(prefix, byte(len(application)))
	prefix = append(prefix, application...)
	prefix = binary.BigEndian.AppendUint64(prefix, uint64(len(transaction)))
	return &Draws{append(prefix, transaction...)}, nil
}

// At gives the draw of this index. One draw answers one question; the next question takes the next index.
func (d *Draws) At(index uint64) Draw {
	hash := sha256.New()
	hash.Write(d.prefix)
	hash.Write(binary.BigEndian.AppendUint64(nil, index))
	return Draw(hash.Sum(nil))
}

// Draw is one draw: 32 random bytes. It gives the same answer to the same question, however often it is asked.
type Draw [32]byte

// Below gives a number from 0 to bound-1, each as likely as any other.
func (d Draw) Below(bound uint64) (uint64, error) {
	if bound == 0 {
		return 0, ErrBound
	}
	return pick(d.words(number, bound).next, bound), nil
}

// Order gives the first count of the places 0 to among-1 in an order of which each is as likely as any other:
// a sample without repetition. Time and memory grow with count, not with among.
func (d Draw) Order(among uint64, count int) ([]uint64, error) {
	if count < 0 || uint64(count) > among {
		return nil, fmt.Errorf("%w: asked for %d of %d", ErrCount, count, among)
	}
	words := d.words(order, among)
	// What stands at places that are still to come, where it is not the place's own number.
	moved := map[uint64]uint64{}
	at := func(place uint64) uint64 {
		if there, ok := moved[place]; ok {
			return there
		}
		return place
	}
	places := make([]uint64, 0, count)
	for here := range uint64(count) {
		there := here + pick(words.next, among-here)
		places = append(places, at(there))
		moved[there] = at(here)
		delete(moved, here)
	}
	return places, nil
}

// Shuffle brings items into the order that Order gives for so many places.
func Shuffle[T any](draw Draw, items []T) {
	count := uint64(len(items))
	words := draw.words(order, count)
	for here := range count {
		there := here + pick(words.next, count-here)
		items[here], items[there] = items[there], items[here]
	}
}

// What is asked of a draw.
const (
	number byte = iota
	order
)

// words are the endless words with which a draw answers one question.
type words struct {
	// What is hashed before the counter.
	prefix  []byte
	counter uint64
	left    []byte
}

func (d Draw) words(question byte, n uint64) *words {
	prefix := append([]byte(wordsTag), d[:]...)
	prefix = append(prefix, question)
	return &words{prefix: binary.BigEndian.AppendUint64(prefix, n)}
}

func (w *words) next() uint64 {
	if len(w.left) == 0 {
		hash := sha256.New()
		hash.Write(w.prefix)
		hash.Write(binary.BigEndian.AppendUint64(nil, w.counter))
		w.left = hash.Sum(nil)
		w.counter++
	}
	word := binary.BigEndian.Uint64(w.left)
	w.left = w.left[8:]
	return word
}

// pick gives a number below the bound, which is not 0. Words from the last multiple of it on are refused, unless it
// divides 2^64: with them the smaller numbers would be drawn more often.
func pick(next func() uint64, bound uint64) uint64 {
	most := math.MaxUint64 - (math.MaxUint64%bound+1)%bound
	var word uint64
	for range tries {
		if word = next(); word <= most {
			break
		}
	}
	return word % bound
}
