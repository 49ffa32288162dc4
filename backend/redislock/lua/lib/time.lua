-- The server's time, and tokens.
--
-- A number is converted to text only with string.format('%.0f'): when Redis concatenates
-- 1789000000123456, the text is "1.7890000001235e+15".

-- time returns the server's time in microseconds, as text with sixteen digits: the same
-- in one script call.
local now
local function time()
  if not now then
    local t = redis.call('TIME')
    now = t[1] .. string.sub('00000' .. t[2], -6)
  end
  return now
end

-- last_issued returns the last token that this server issued, or nil and an error.
local function last_issued()
  local last = redis.pcall('GET', KEYS[1])
  if not last then
    return '0000000000000000'
  elseif type(last) == 'table' then
    return nil, last.err
  elseif not string.find(last, '^%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d$') or last >= '9007199254740991' then
    -- From 2^53 on, neighbouring integers are the same double. To start again could issue a
    -- smaller token.
    return nil, 'BADCLOCK it is not a token'
  end
  return last
end

-- issue returns the last token that was issued before and a new one. All between them are
-- issued too. The new token is the time, unless the clock was set back.
local function issue()
  local before, err = last_issued()
  if err then
    error({ err = err })
  end
  local token = time()
  if before >= token then
    token = string.format('%.0f', before + 1)
  end
  redis.call('SET', KEYS[1], token)
  return before, token
end
