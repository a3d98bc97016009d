// drand's published client in Go against a running devnet: go run . http://127.0.0.1:8787
//
// With -rounds it waits until there are so many.
//
// It takes round 1 for granted: it measures its endpoints' speed with it, and verifies a chain from it on.
package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	nethttp "net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/drand/go-clients/client"
	"github.com/drand/go-clients/client/http"
	"github.com/drand/go-clients/drand"
)

// endpoint counts what it is asked.
type endpoint struct {
	drand.Client
	first, all atomic.Int64
}

func (e *endpoint) Get(ctx context.Context, round uint64) (drand.Result, error) {
	result, err := e.Client.Get(ctx, round)
	if err == nil {
		e.all.Add(1)
		if round == 1 {
			e.first.Add(1)
		}
	}
	return result, err
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	rounds := flag.Uint64("rounds", 3, "how many rounds there have to be")
	flag.Parse()
	if err := run(ctx, flag.Arg(0), *rounds); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("go-clients is content")
}

func run(ctx context.Context, url string, rounds uint64) error {
	hash, err := there(ctx, url, rounds)
	if err != nil {
		return err
	}
	if err := measures(ctx, url, hash); err != nil {
		return fmt.Errorf("speed test: %w", err)
	}
	if err := verifies(ctx, url, hash); err != nil {
		return fmt.Errorf("full chain verification: %w", err)
	}
	return nil
}

// there waits until the committee has made its key and so many rounds are there; the chain's hash.
func there(ctx context.Context, url string, rounds uint64) ([]byte, error) {
	var health struct{ Current uint64 }
	for health.Current < rounds {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		time.Sleep(500 * time.Millisecond)
		if err := ask(url+"/health", &health); err != nil {
			return nil, err
		}
	}
	var hashes []string
	if err := ask(url+"/chains", &hashes); err != nil {
		return nil, err
	}
	if len(hashes) != 1 {
		return nil, fmt.Errorf("%d chains", len(hashes))
	}
	return hex.DecodeString(hashes[0])
}

func ask(url string, answer any) error {
	reply, err := nethttp.Get(url)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	return json.NewDecoder(reply.Body).Decode(answer)
}

// endpoints are two views of the one devnet, so that there is something to choose from.
func endpoints(ctx context.Context, url string, hash []byte) ([]*endpoint, []drand.Client, error) {
	var counted []*endpoint
	var clients []drand.Client
	for range 2 {
		source, err := http.New(ctx, nil, url, hash, nil)
		if err != nil {
			return nil, nil, err
		}
		one := &endpoint{Client: source}
		counted, clients = append(counted, one), append(clients, one)
	}
	return counted, clients, nil
}

func measures(ctx context.Context, url string, hash []byte) error {
	counted, clients, err := endpoints(ctx, url, hash)
	if err != nil {
		return err
	}
	c, err := client.Wrap(clients, client.WithChainHash(hash))
	if err != nil {
		return err
	}
	defer c.Close()
	// Nobody but the speed test asks for anything yet.
	for _, one := range counted {
		for one.first.Load() == 0 {
			if ctx.Err() != nil {
				return errors.New("no endpoint has round 1")
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	return nil
}

func verifies(ctx context.Context, url string, hash []byte) error {
	counted, clients, err := endpoints(ctx, url, hash)
	if err != nil {
		return err
	}
	c, err := client.Wrap(clients, client.WithChainHash(hash), client.WithFullChainVerification())
	if err != nil {
		return err
	}
	defer c.Close()
	newest, err := c.Get(ctx, 0)
	if err != nil {
		return err
	}
	// It and every round between it and the first were fetched and verified, from one endpoint or the other.
	asked := counted[0].all.Load() + counted[1].all.Load()
	if newest.GetRound() < 3 || asked < int64(newest.GetRound())-1 {
		return fmt.Errorf("round %d was verified after %d requests", newest.GetRound(), asked)
	}
	if due := c.RoundAt(time.Now()); due < newest.GetRound() {
		return fmt.Errorf("round %d is there, round %d is due", newest.GetRound(), due)
	}
	first, err := c.Get(ctx, 1)
	if err != nil {
		return err
	}
	if first.GetRound() != 1 || len(first.GetRandomness()) != 32 {
		return fmt.Errorf("round 1 is %v", first)
	}
	// It follows the chain.
	seen := newest.GetRound()
	for result := range c.Watch(ctx) {
		if result.GetRound() > seen+1 {
			return nil
		}
	}
	return errors.New("the chain does not go on")
}
