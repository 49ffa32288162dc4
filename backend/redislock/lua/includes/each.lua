-- Running a script for several locks.

-- each calls f with the number of each lock that has no line in the reply yet, and returns
-- the lines. What fails for one lock fails for that lock alone. But if the server says of
-- itself that it does not serve, the reply is that error: go-redis must see it, because it
-- closes the connection to a server that has become a replica. A server says so at the first
-- write of a script, so nothing was written for any of the locks. OOM is not among these
-- errors: a server that is full refuses some commands, and allows others.
local function of_server(line)
  for _, code in ipairs({ 'READONLY ', 'MASTERDOWN ', 'MISCONF ', 'NOREPLICAS ' }) do
    local at = string.find(line, code, 1, true) -- before Redis 7, the script's name comes first
    if at then
      return string.sub(line, at)
    end
  end
end

local function each(n, lines, f)
  for i = 1, n do
    if not lines[i] then
      local ok, answer = pcall(f, i)
      if not ok then
        answer = '-' .. string.gsub(type(answer) == 'table' and answer.err or answer, '\n', ' ')
      end
      local refused = string.sub(answer, 1, 1) == '-' and of_server(answer)
      if refused then
        return redis.error_reply(refused)
      end
      lines[i] = answer
    end
  end
  return table.concat(lines, '\n')
end
