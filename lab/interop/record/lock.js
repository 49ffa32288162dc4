// Adds one to a number in Redis, again and again, each time under a lock: lock.js PORT KEY TIMES.
// The lock is the record of redislock, as docs/record.md describes it.
const [port, key, times] = process.argv.slice(2)
const take = `local t = redis.call('TIME')
local token = string.format('%.0f', math.max(t[1] * 1e6 + t[2], (redis.call('GET', KEYS[2]) or 0) + 1))
if not redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. token, 'NX', 'PX', ARGV[2]) then return false end
redis.call('SET', KEYS[2], token)
return token`
const give = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`
const pause = (ms) => new Promise((done) => setTimeout(done, ms))
const connection = require('node:net').connect(port, '127.0.0.1')
const lines = require('node:readline').createInterface({ input: connection })[Symbol.asyncIterator]()

async function redis(...words) {
  connection.write(`*${words.length}\r\n` + words.map((w) => `$${Buffer.byteLength(String(w))}\r\n${w}\r\n`).join(''))
  const { value: head } = await lines.next()
  if (head[0] === '-') throw new Error(head)
  if (head[0] !== '$') return head.slice(1)
  return head === '$-1' ? null : (await lines.next()).value
}

async function main() {
  for (let i = 0; i < times; i++) {
    const owner = `${crypto.randomUUID()}@node`
    let token
    while (!(token = await redis('EVAL', take, 2, key, 'distlock:clock', owner, 10000))) await pause(5)
    const number = Number(await redis('GET', 'number'))
    await pause(1)
    await redis('SET', 'number', number + 1)
    await redis('RPUSH', 'tokens', token)
    if (await redis('EVAL', give, 1, key, `${owner} ${token}`) !== '1') throw new Error('the lock was lost')
  }
  connection.end()
}
main()
