package httpapi

import (
	"net/http"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/space"
)

// budgets lists the budgets of a space that the caller may see.
func (s *Server) budgets(w http.ResponseWriter, _ *http.Request, v caller) {
	list, loops, day := v.space.Budgets(v.id)
	out := api.Budgets{
		Day: day.Start().Format(time.DateOnly), Until: (day + 1).Start(), Budgets: make([]api.Budget, len(list)),
		Loops: api.Loops(loops),
	}
	for i := range list {
		out.Budgets[i] = budgetOf(&list[i])
	}
	v.writeJSON(w, out)
}

func budgetOf(x *space.BudgetUse) api.Budget {
	b := api.Budget{ID: x.ID, Uncounted: x.Uncounted, Asks: x.Asks, MayExtend: x.MayExtend}
	quantity := func(used, configured, limit float64) *api.Quantity {
		if configured == 0 {
			return nil
		}
		return &api.Quantity{Used: used, Limit: limit, Extended: limit - configured}
	}
	b.Tokens = quantity(float64(x.Used.Tokens), float64(x.Budget.Tokens), float64(x.Limit.Tokens))
	b.Calls = quantity(float64(x.Used.Calls), float64(x.Budget.Calls), float64(x.Limit.Calls))
	b.Cost = quantity(x.Used.Cost.Amount(), x.Budget.Cost.Amount(), x.Limit.Cost.Amount())
	if b.Cost != nil {
		b.Cost.Extended = (x.Limit.Cost - x.Budget.Cost).Amount()
		b.Currency = x.Limit.Currency
	}
	return b
}
