// An engine in Go, as small as one can be, around the sidecars of a whole committee: go run . SOCKET...
//
// It orders slots for all parties, one after another, and talks to their sidecars only: what a vote carries
// comes from `Prefinalize` and goes to the others by `Receive`. It prints each party's values, one line of
// JSON for each, for the test that started it to verify.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "prefinal-sidecar-test/prefinal/sidecar/v1"
)

// The slots that are ordered. Of the later ones, some are voted for in a second attempt, and one is skipped.
const (
	last    = 20
	skipped = 14
)

// later says whether the first attempt at the slot is given up.
func later(slot uint64) bool { return slot%4 == 3 }

// pool has the transactions that some party wants to be ordered.
type pool struct {
	mutex   sync.Mutex
	waiting [][]byte
}

func (p *pool) add(transaction []byte) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.waiting = append(p.waiting, transaction)
}

func (p *pool) take() [][]byte {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	taken := p.waiting
	p.waiting = nil
	return taken
}

func (p *pool) size() int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return len(p.waiting)
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, sockets []string) error {
	parties := make([]pb.SidecarClient, len(sockets))
	mempool := &pool{}
	for party, socket := range sockets {
		connection, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return err
		}
		defer connection.Close()
		parties[party] = pb.NewSidecarClient(connection)
		if err := meets(ctx, parties[party], uint32(party), len(sockets)); err != nil {
			return fmt.Errorf("party %d: %w", party, err)
		}
		orders, err := parties[party].Order(ctx, &pb.OrderRequest{})
		if err != nil {
			return err
		}
		go func() {
			for {
				order, err := orders.Recv()
				if err != nil {
					return
				}
				mempool.add(order.GetTransaction())
			}
		}()
	}
	// Each party deals.
	for mempool.size() < len(sockets) {
		if ctx.Err() != nil {
			return fmt.Errorf("%d dealings: %w", mempool.size(), ctx.Err())
		}
		time.Sleep(10 * time.Millisecond)
	}
	for slot := uint64(1); slot <= last; slot++ {
		if err := order(ctx, parties, slot, mempool.take()); err != nil {
			return fmt.Errorf("slot %d: %w", slot, err)
		}
	}
	for party, client := range parties {
		if err := show(ctx, client, party); err != nil {
			return fmt.Errorf("values of party %d: %w", party, err)
		}
	}
	return refuses(ctx, parties[0])
}

// meets looks whether the sidecar is who it should be, and has the committee.
func meets(ctx context.Context, client pb.SidecarClient, party uint32, parties int) error {
	status, err := client.Status(ctx, &pb.StatusRequest{})
	if err != nil {
		return err
	}
	if status.GetParty() != party || status.GetNextFinal() != 1 || status.GetStopped() != nil {
		return fmt.Errorf("status: %v", status)
	}
	if status.GetCarry() != pb.Carry_CARRY_VOTE {
		return errors.New("partials should travel in votes")
	}
	stream, err := client.Committees(ctx, &pb.CommitteesRequest{})
	if err != nil {
		return err
	}
	committee, err := stream.Recv()
	if err != nil {
		return err
	}
	if len(committee.GetMembers()) != parties || len(committee.GetMembers()[party].GetEd25519()) != 32 {
		return fmt.Errorf("committee: %v", committee)
	}
	return nil
}

// order makes the slot final, as if the votes of all parties had arrived everywhere.
func order(ctx context.Context, parties []pb.SidecarClient, slot uint64, transactions [][]byte) error {
	hash := sha256.Sum256(fmt.Appendf(nil, "block %d", slot))
	attempt := uint32(0)
	if later(slot) {
		attempt = 1
		for _, client := range parties {
			if _, err := client.Abandon(ctx, &pb.AbandonRequest{Slot: slot, Attempt: 0}); err != nil {
				return err
			}
		}
	}
	for from, client := range parties {
		request := &pb.PrefinalizeRequest{Slot: slot, Attempt: attempt, Value: hash[:]}
		vote, err := client.Prefinalize(ctx, request)
		if err != nil {
			return err
		}
		if later(slot) && vote.GetWithheld().GetCode() == "" {
			return fmt.Errorf("a second attempt releases: %v", vote)
		}
		again, err := client.Prefinalize(ctx, request)
		if err != nil || !bytes.Equal(vote.GetPartial(), again.GetPartial()) {
			return fmt.Errorf("asked again: %v, %w", again, err)
		}
		if partial := vote.GetPartial(); partial != nil {
			if err := carry(ctx, parties, from, partial); err != nil {
				return err
			}
		}
	}
	block := &pb.Block{Value: hash[:], Transactions: transactions}
	if slot == skipped {
		block = nil
	}
	for _, client := range parties {
		if _, err := client.Finalize(ctx, &pb.FinalizeRequest{Slot: slot, Block: block}); err != nil {
			return err
		}
	}
	return nil
}

// carry gives what a vote carries to all other parties.
func carry(ctx context.Context, parties []pb.SidecarClient, from int, partial []byte) error {
	for to, client := range parties {
		if to == from {
			continue
		}
		answer, err := client.Receive(ctx, &pb.ReceiveRequest{From: uint32(from), Partial: partial})
		if err != nil {
			return err
		}
		if dropped := answer.GetDropped(); dropped != nil {
			return fmt.Errorf("dropped: %v", dropped)
		}
	}
	return nil
}

// show prints the values from the first on.
func show(ctx context.Context, client pb.SidecarClient, party int) error {
	from := uint64(1)
	stream, err := client.Values(ctx, &pb.ValuesRequest{FromSlot: &from})
	if err != nil {
		return err
	}
	for {
		value, err := stream.Recv()
		if err != nil {
			return err
		}
		revealed := value.GetRevealed()
		line, err := json.Marshal(map[string]any{
			"party":      party,
			"slot":       value.GetSlot(),
			"round":      revealed.GetRound(),
			"signature":  hex.EncodeToString(revealed.GetSignature()),
			"randomness": hex.EncodeToString(revealed.GetRandomness()),
			"key":        hex.EncodeToString(revealed.GetKey().GetPublicKey()),
			"path":       revealed.GetPath().String(),
		})
		if err != nil {
			return err
		}
		fmt.Println(string(line))
		if value.GetSlot() == last {
			return nil
		}
	}
}

// refuses tries what must not be done, and looks at the codes.
func refuses(ctx context.Context, client pb.SidecarClient) error {
	var trailer metadata.MD
	gap := &pb.FinalizeRequest{Slot: last + 2}
	_, err := client.Finalize(ctx, gap, grpc.Trailer(&trailer))
	if !is(err, trailer, codes.FailedPrecondition, "slot-gap") {
		return fmt.Errorf("a gap: %w, %v", err, trailer)
	}
	short := &pb.PrefinalizeRequest{Slot: last + 1, Value: []byte{1}}
	_, err = client.Prefinalize(ctx, short, grpc.Trailer(&trailer))
	if !is(err, trailer, codes.InvalidArgument, "wrong-length") {
		return fmt.Errorf("a short hash: %w, %v", err, trailer)
	}
	from := uint64(1)
	stream, err := client.Values(ctx, &pb.ValuesRequest{FromSlot: &from, Limit: 1})
	if err != nil {
		return err
	}
	if _, err := stream.Recv(); err != nil {
		return err
	}
	if _, err := stream.Recv(); err != io.EOF {
		return fmt.Errorf("a limit of 1: %w", err)
	}
	return nil
}

// is says whether a call was refused in this way.
func is(err error, trailer metadata.MD, expected codes.Code, stable string) bool {
	code := trailer.Get("prefinal-code")
	return status.Code(err) == expected && len(code) == 1 && code[0] == stable
}
