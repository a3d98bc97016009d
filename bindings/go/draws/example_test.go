package draws_test

import (
	"crypto/sha256"
	"fmt"

	"github.com/prefinal/prefinal/bindings/go/draws"
)

func Example() {
	value := [32]byte{7}                            // of the slot, verified before
	bet := sha256.Sum256([]byte("the transaction")) // that placed the bet
	all, err := draws.New(value, "acme/raffle", bet[:])
	if err != nil {
		panic(err)
	}
	winners, err := all.At(1).Order(250, 3) // three of 250 tickets
	if err != nil {
		panic(err)
	}
	fmt.Println(len(winners))
	// Output: 3
}
