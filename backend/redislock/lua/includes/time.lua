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
    now = string.format('%016.0f', t[1] * 1000000 + t[2])
  end
  return now
end

-- last_issued returns the last token that this server issued, or nil and an error. If it was
-- lost, all tokens up to the present time may have been issued. A small number says that it
-- was lost, and that plain attempts have incremented it since. INCRBY drops a leading zero:
-- until September 2001 the time has one.
local function last_issued()
  local last = redis.pcall('GET', KEYS[#KEYS])
  local digits = type(last) == 'string' and string.find(last, '^%d+$') and #last
  if digits == 15 then
    last = '0' .. last
  end
  if not last or digits and digits < 15 then
    return string.format('%016.0f', time() - 1)
  elseif type(last) == 'table' and string.sub(last.err, 1, 9) ~= 'WRONGTYPE' then
    return nil, last.err
  elseif type(last) == 'table' or not string.find(last, '^%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d$') or last >= '9007199254740991' then
    -- From 2^53 on, neighbouring integers are the same double. To start again could issue a
    -- smaller token.
    return nil, 'BADCLOCK the value of ' .. KEYS[#KEYS] .. ' is not a token; delete the key, and tokens go on from the time of the server'
  end
  return last
end

-- issue returns a new token, when before was issued last. All between them are issued too.
-- The new token is the time, unless the clock was set back.
local function issue(before)
  local token = time()
  if before >= token then
    token = string.format('%016.0f', before + 1)
  end
  redis.call('SET', KEYS[#KEYS], token)
  return token
end
