// Package fence lets data refuse a holder whose lock has passed to another. The locks are in
// any store that has tokens, and the data in a database that knows nothing of them.
//
//	tx, err := db.BeginTx(ctx, nil)
//	...
//	if err := fence.Postgres.Check(ctx, tx, lease); err != nil {
//		return err // fence.ErrStale: a later holder has been here
//	}
//	_, err = tx.ExecContext(ctx, `UPDATE items SET ...`)
//
// The table distlock_fence, of [Dialect.Schema], has the largest token that each key has shown,
// and its row is locked until the transaction ends. So of two transactions of holders that
// overlap, either the earlier holder's is first, and the later one sees what it wrote, or it is
// refused. No clock decides. The check is one statement more:
// go test -bench Fence ./backend/sqllock.
//
// The key is the resource: whoever writes it must hold this key, of one store, and alone. If
// the store has lost its tokens, so that new ones are smaller, delete the rows.
//
// [Lua] is the rule for a hash in Redis. For an item in DynamoDB it is the ConditionExpression
// "attribute_not_exists(fence) OR fence <= :token", with SET fence = :token. For an object in
// S3, keep the token in its metadata: read it, compare, and write with If-Match of its ETag.
//
// A lease does not travel with a call, but its key and token do, as a [Ticket]: SendTickets and
// ReceiveTickets of packages httpmw and grpcmw carry it. The callee takes no lock; [FromContext]
// returns the ticket there, and the lease in a function that holds the lock itself. A ticket
// says which writer is the last, not who may call: it is for services inside a [Boundary].
package fence
