package fence

// Lua begins a script for Redis that uses a hash. KEYS[1] is the hash, whose field token has
// the largest token, and ARGV[1] is the token of the caller, in decimal. A smaller token is
// refused with the error STALE, and anything but a token with NOTOKEN.
const Lua = `
local seen, mine = redis.call('HGET', KEYS[1], 'token') or '0', ARGV[1]
if not string.find(mine, '^[1-9]%d*$') then return redis.error_reply('NOTOKEN the first argument is not a token') end
if #mine < #seen or #mine == #seen and mine < seen then return redis.error_reply('STALE a later holder has been here') end
if mine ~= seen then redis.call('HSET', KEYS[1], 'token', mine) end
`
