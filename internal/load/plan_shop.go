package load

import (
	"context"
	"fmt"
	"time"
)

// shopPlan orders from the example service: a sample is an order of one piece. The
// counter of a key is the number of pieces missing from the stock of its sku, which
// starts with as many as its users will order.
type shopPlan struct {
	cfg  *config
	shop shop
}

// shop is a client of the service.
type shop interface {
	setStock(ctx context.Context, sku string, stock int) error
	stock(ctx context.Context, sku string) (int, error)
	order(ctx context.Context, user int, sku, buyer string) result
	close() error
}

// controlTimeout limits each request that is not a sample.
const controlTimeout = 10 * time.Second

// openShopPlan fills the stock, and so checks that the service answers.
func openShopPlan(ctx context.Context, c *config, s shop) (plan, error) {
	p := &shopPlan{c, s}
	err := p.eachKey(ctx, func(ctx context.Context, key int) error {
		return s.setStock(ctx, sku(key), c.increments(key))
	})
	if err != nil {
		_ = s.close()
		return nil, fmt.Errorf("-target %s: %w", c.target, err)
	}
	return p, nil
}

func (p *shopPlan) eachKey(ctx context.Context, do func(ctx context.Context, key int) error) error {
	for key := range p.cfg.usedKeys() {
		one, cancel := context.WithTimeout(ctx, controlTimeout)
		err := do(one, key)
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *shopPlan) sample(ctx context.Context, user int) result {
	return p.shop.order(ctx, user, sku(user%p.cfg.keys), fmt.Sprintf("u%d", user+1))
}

func (p *shopPlan) counted(ctx context.Context) (sum int64, err error) {
	err = p.eachKey(ctx, func(ctx context.Context, key int) error {
		left, err := p.shop.stock(ctx, sku(key))
		sum += int64(p.cfg.increments(key) - left)
		return err
	})
	return sum, err
}

func (p *shopPlan) close() error { return p.shop.close() }

// increments returns how many samples the users of a key do.
func (c *config) increments(key int) int {
	users := c.group.users / c.keys
	if key < c.group.users%c.keys {
		users++
	}
	return users * c.group.loops
}

// sku returns the item of a key.
func sku(key int) string { return fmt.Sprintf("bench-%d", key+1) }
